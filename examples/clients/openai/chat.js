// A conversation in the terminal with an application of a Parley server, over OpenAI's
// Responses:
//
//   npm install && node chat.js weather
//
// PARLEY is the address of the server, and PARLEY_KEY an API key or a token, if it
// needs one.
import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: `${process.env.PARLEY ?? 'http://localhost:8000'}/v1`,
  apiKey: process.env.PARLEY_KEY ?? 'none',
});
const model = process.argv[2] ?? (await client.models.list()).data[0].id;

const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();

/** Asks the user for a line; undefined at the end. */
async function ask(prompt) {
  process.stdout.write(prompt);
  return (await lines.next()).value;
}

/** Sends an input, prints the answer as it is written, and returns the response. */
async function send(input, previous) {
  let response;
  let stream = await client.responses.create({ model, input, previous_response_id: previous?.id, stream: true });
  for (let last = -1; !response; ) {
    try {
      for await (const event of stream) {
        last = event.sequence_number;
        if (event.type === 'response.created') previous = event.response;
        if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
        if (['response.completed', 'response.incomplete', 'response.failed'].includes(event.type)) response = event.response;
      }
    } catch (error) {
      if (last < 0) throw error;
    }
    // The connection was lost: the run continues, and so does the stream.
    if (!response) stream = await client.responses.retrieve(previous.id, { stream: true, starting_after: last });
  }
  process.stdout.write('\n');
  if (response.error) console.log(`Failed: ${response.error.message}`);
  return response;
}

/** Answers a question of the server. */
async function answer({ call_id, kind, message, name, arguments: args, auth_uri }) {
  const item = { type: 'parley:answer', call_id };
  switch (kind) {
    case 'confirmation':
      return { ...item, approved: (await ask(`${message || `May ${name} be called with ${args}?`} (y/n) `))?.startsWith('y') ?? false };
    case 'login':
      return { ...item, authResponseUri: await ask(`Open ${auth_uri} and enter the address that you are sent to: `) };
  }
  const text = await ask(`${message} `);
  try {
    return { ...item, value: JSON.parse(text) };
  } catch {
    return { ...item, value: text };
  }
}

let previous;
for (let text; (text = await ask('> ')) !== undefined; ) {
  previous = await send(text, previous);
  for (;;) {
    const questions = previous.output.filter(({ type }) => type === 'parley:question');
    if (questions.length === 0) break;
    const answers = [];
    for (const question of questions) answers.push(await answer(question));
    previous = await send(answers, previous);
  }
}
process.stdout.write('\n');
terminal.close();
