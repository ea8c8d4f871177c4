// A list of tasks that is kept for the user, over all sessions: several tools
// that share state.
import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

interface Task {
  title: string;
  done: boolean;
}

const key = 'user:tasks';

const addTask = new FunctionTool({
  name: 'add_task',
  description: 'Adds a task to the list.',
  parameters: z.object({ title: z.string().describe('What is to be done.') }),
  execute: ({ title }, { state }) => {
    const tasks: Task[] = [...state.get(key, []), { title, done: false }];
    state.set(key, tasks);
    return { status: 'success', message: `"${title}" is on your list, which has ${tasks.length} now.` };
  },
});

const listTasks = new FunctionTool({
  name: 'list_tasks',
  description: 'Lists the tasks.',
  execute: (_: unknown, { state }) => {
    const tasks: Task[] = state.get(key, []);
    const lines = tasks.map((task, i) => `${i + 1}. ${task.title}${task.done ? ' (done)' : ''}`);
    return { status: 'success', message: lines.join('\n') || 'There is nothing to do.' };
  },
});

const completeTask = new FunctionTool({
  name: 'complete_task',
  description: 'Marks a task as completed.',
  parameters: z.object({ number: z.number().int().min(1).describe('The number of the task in the list.') }),
  execute: ({ number }, { state }) => {
    const tasks: Task[] = structuredClone(state.get(key, []));
    const task = tasks[number - 1];
    if (!task) return { status: 'error', error_message: `There is no task ${number}.` };
    task.done = true;
    state.set(key, tasks);
    return { status: 'success', message: `Well done: "${task.title}".` };
  },
});

export const rootAgent = new LlmAgent({
  name: 'tasks',
  model: 'gemini-2.5-flash',
  description: 'Keeps a list of tasks.',
  instruction: 'Keep the list of tasks of the user. There are {user:tasks?} on it.',
  tools: [addTask, listTasks, completeTask],
});
