import { expect, test } from 'vitest';

import { piecesOf } from './name';

test('where a name may break', () => {
  expect(piecesOf('rubric_based_final_response_quality_v1')).toEqual(['rubric_', 'based_', 'final_', 'response_', 'quality_', 'v1']);
  expect(piecesOf('https://example.com/a-b')).toEqual(['https://', 'example.', 'com/', 'a-', 'b']);
  expect(['word', '_temp', 'end_', '', '...'].map(piecesOf)).toEqual([['word'], ['_temp'], ['end_'], [''], ['...']]);
});
