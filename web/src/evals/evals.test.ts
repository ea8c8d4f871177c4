import { expect, test } from 'vitest';

import type { Event } from '../api/types';
import { caseName, feedbackOf, withText, type Invocation, type Metric, type ToolCall } from './api';
import { bestScores, changedExpectation, number } from './parts';
import { choicesKept, choicesOf, metricsOf } from './rundialog';

test('the latest feedback of each author', () => {
  const said = (feedback: object, more: object = {}) => ({ id: 'x', invocationId: 'p-1', author: 'user', timestamp: 1, customMetadata: { feedback }, ...more }) as unknown as Event;
  const list = feedbackOf([
    said({ runId: 'e-1', author: 'ann', rating: 'up' }), said({ runId: 'e-1', author: 'bob', rating: 'down', note: 'no' }),
    said({ runId: 'e-1', author: 'ann' }), said({ runId: 'e-2', author: 'eve', rating: 'up' }, { invocationId: 'e-2' }),
  ]);
  expect(list).toEqual([{ runId: 'e-1', author: 'bob', rating: 'down', note: 'no' }]);
});

test('cases have names of their own', () => {
  expect(caseName('What is the weather in Paris today, please?', [])).toBe('what_is_the_weather_in_paris');
  expect(caseName('Hi!', ['hi', 'hi_2'])).toBe('hi_3');
  expect(caseName('???', [])).toBe('case');
});

test('what a case expects has changed between two results', () => {
  const turn = (text: string, ...toolUses: ToolCall[]): Invocation => ({ userContent: {}, finalResponse: { parts: [{ text }] }, intermediateData: { toolUses } as Invocation['intermediateData'] });
  const oslo = { name: 'get_weather', args: { city: 'Oslo' } };
  expect(changedExpectation(turn('Sunny', oslo), turn('Sunny', { ...oslo, id: 'other' }))).toBeUndefined();
  expect(changedExpectation(turn('Sunny', oslo), turn('Rainy', oslo))).toEqual({ answer: true, calls: false });
  expect(changedExpectation(turn('Sunny', oslo), turn('Sunny', { name: 'get_weather', args: { city: 'Bergen' } }))).toEqual({ answer: false, calls: true });
  expect(changedExpectation(turn('Sunny', oslo), turn('Rainy'))).toEqual({ answer: true, calls: true });
  expect(changedExpectation(undefined, turn('Sunny'))).toBeUndefined(); // another number of turns can be seen
});

test('scores have the digits that the server writes', () => {
  expect([0.454545, 0.45446, 0.7, 1, 0, undefined].map(number)).toEqual(['0.4545', '0.4545', '0.7', '1', '0', 'none']);
});

test('a score is the best if another one is lower', () => {
  const of = (...list: Record<string, number>[]) => bestScores(list.map((scores) => ({ scores })));
  expect(of({ words: 0.5, tools: 1 }, { words: 0.9, tools: 1 }, { words: 0.9 })).toEqual({ words: '0.9' });
  expect(of({ words: 0.911111 }, { words: 0.911109 })).toEqual({}); // they look the same
  expect(of({ words: 0.5 }, {})).toEqual({});
  expect(of()).toEqual({});
});

test('a text is changed, and files stay', () => {
  const file = { inlineData: { mimeType: 'image/png', data: 'AA==' } };
  expect(withText({ role: 'user', parts: [{ text: 'a' }, file] }, 'user', 'b')).toEqual({ role: 'user', parts: [{ text: 'b' }, file] });
  expect(withText(undefined, 'model', 'b')).toEqual({ role: 'model', parts: [{ text: 'b' }] });
});

test('criteria of the application are what is chosen, and what cannot be chosen stays', () => {
  const all = ['tool_trajectory_avg_score', 'response_match_score', 'rubric_based_final_response_quality_v1'].map((metricName) => ({ metricName, description: '', judged: metricName.startsWith('rubric') }));
  const criteria: Metric[] = [
    { metricName: 'tool_trajectory_avg_score', threshold: 0.5, criterion: { threshold: 0.5, matchType: 2, ignoreArgs: true } },
    { metricName: 'rubric_based_final_response_quality_v1', threshold: 0.7, criterion: { threshold: 0.7, judgeModelOptions: { judgeModel: 'poet', numSamples: 2 }, rubrics: [{ rubricId: 'r', rubricContent: { textProperty: 'It is short.' } }] } },
  ];
  const choices = choicesOf(all, criteria, true);
  const rubrics = 'rubric_based_final_response_quality_v1';
  expect(choices).toMatchObject({ match: 'ANY_ORDER', metrics: { [rubrics]: { judge: 'poet', samples: '2' } }, rubrics: 'It is short.', recorded: true });
  expect(metricsOf(all, choices)).toEqual(criteria);
  expect(metricsOf(all, { ...choices, match: 'IN_ORDER', rubrics: 'It rhymes.', metrics: { ...choices.metrics, [rubrics]: { ...choices.metrics[rubrics]!, judge: '', samples: '' } } })).toEqual([
    { metricName: 'tool_trajectory_avg_score', threshold: 0.5, criterion: { threshold: 0.5, matchType: 'IN_ORDER', ignoreArgs: true } },
    { metricName: 'rubric_based_final_response_quality_v1', threshold: 0.7, criterion: { threshold: 0.7, rubrics: [{ rubricId: 'rubric_1', rubricContent: { textProperty: 'It rhymes.' } }] } },
  ]);
  expect(metricsOf(all, choicesOf(all, [{ metricName: 'response_match_score', threshold: 0.8 }]))).toEqual([{ metricName: 'response_match_score', threshold: 0.8 }]);
});

test('each metric has a model that judges', () => {
  const [meaning, rubrics] = ['final_response_match_v2', 'rubric_based_final_response_quality_v1'] as const;
  const all = [meaning, rubrics].map((metricName) => ({ metricName, description: '', judged: true }));
  const criteria: Metric[] = [
    { metricName: meaning, threshold: 0.5, criterion: { threshold: 0.5, judgeModelOptions: { judgeModel: 'poet', numSamples: 3, judgeModelConfig: { temperature: 0 } } } },
    { metricName: rubrics, threshold: 0.7, criterion: { threshold: 0.7, judgeModelOptions: { judgeModel: 'critic' }, rubrics: [{ rubricId: 'short', rubricContent: { textProperty: 'It is short.\nVery short.' } }] } },
  ];
  const choices = choicesOf(all, criteria);
  expect(choices.metrics).toMatchObject({ [meaning]: { judge: 'poet', samples: '3' }, [rubrics]: { judge: 'critic', samples: '' } });
  expect(metricsOf(all, choices)).toEqual(criteria);
  // One changes, and nothing else does.
  const edited = metricsOf(all, { ...choices, metrics: { ...choices.metrics, [meaning]: { ...choices.metrics[meaning]!, judge: ' editor ', samples: '1' } } });
  expect(edited).toEqual([{ metricName: meaning, threshold: 0.5, criterion: { threshold: 0.5, judgeModelOptions: { judgeModel: 'editor', numSamples: 1, judgeModelConfig: { temperature: 0 } } } }, criteria[1]]);
  // A metric that is not in the criteria.
  const added = choicesOf(all, criteria.slice(0, 1));
  expect(metricsOf(all, { ...added, metrics: { ...added.metrics, [rubrics]: { on: true, threshold: '1', judge: 'critic', samples: '3' } } })[1]).toEqual({ metricName: rubrics, threshold: 1, criterion: { threshold: 1, judgeModelOptions: { judgeModel: 'critic', numSamples: 3 } } });
});

test('one model for all metrics, as earlier versions have stored it, is that of each', () => {
  const kept = choicesKept({ metrics: { a: { on: true, threshold: '1' }, b: { on: false, threshold: '0.5' } }, match: 'IN_ORDER', judge: 'poet', samples: '2', rubrics: '', recorded: true });
  expect(kept).toEqual({ metrics: { a: { on: true, threshold: '1', judge: 'poet', samples: '2' }, b: { on: false, threshold: '0.5', judge: 'poet', samples: '2' } }, match: 'IN_ORDER', rubrics: '', recorded: true });
  expect(choicesKept(kept)).toEqual(kept);
  expect(choicesKept(undefined)).toMatchObject({ match: 'EXACT', recorded: false });
});
