import { expect, test } from 'vitest';

import type { JsonObject } from '../api/types';
import { initialOf, read, resolve, shapeOf, Unreadable, variantOf } from './args';

const order: JsonObject = {
  type: 'object',
  required: ['city', 'stops', 'pay'],
  $defs: { Place: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, inside: { $ref: '#/$defs/Place' } } } },
  properties: {
    city: { type: 'string', enum: ['Oslo', 'Rome'] },
    days: { type: 'integer', default: 3 },
    stops: { type: 'array', items: { $ref: '#/$defs/Place' } },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    pay: {
      oneOf: [
        { type: 'object', required: ['by', 'number'], properties: { by: { const: 'card' }, number: { type: 'string' } } },
        { type: 'object', required: ['by'], properties: { by: { const: 'cash' } } },
      ],
    },
    extra: { type: 'object', additionalProperties: true },
  },
};

test('each part of a schema has a field', () => {
  const shape = shapeOf(order, order);
  if (shape.kind !== 'object') throw new Error(shape.kind);
  const kinds = Object.fromEntries(shape.members.map((m) => [m.name, shapeOf(m.schema, order, 1).kind]));
  expect(kinds).toEqual({ city: 'choice', days: 'integer', stops: 'list', note: 'text', pay: 'variants', extra: 'json' });
  expect(shapeOf({ type: 'STRING' }, {}).kind).toBe('text'); // as some models spell types
  expect(shapeOf({ type: ['integer', 'null'] }, {}).kind).toBe('integer');
  expect(shapeOf({ type: ['integer', 'string'] }, {}).kind).toBe('json');
  expect(shapeOf({}, {}).kind).toBe('json');
  expect(shapeOf({ oneOf: [{ const: 1 }, { const: 2 }] }, {})).toMatchObject({ kind: 'choice', choices: [1, 2] });
  expect(shapeOf({ allOf: [{ properties: { a: {} }, required: ['a'] }, { properties: { b: {} } }] }, {})).toMatchObject({ kind: 'object', members: [{ name: 'a', required: true }, { name: 'b', required: false }] });
});

test('a schema that contains itself ends', () => {
  const endless: JsonObject = { $ref: '#' };
  expect(resolve(endless, endless)).toEqual(expect.any(Object));
  const place = { $ref: '#/$defs/Place' };
  expect(shapeOf(place, order, 6).kind).toBe('json');
  expect(initialOf({ type: 'object', required: ['a'], properties: { a: { $ref: '#' } } }, { type: 'object', required: ['a'], properties: { a: { $ref: '#' } } }, true)).toEqual(expect.any(Object));
});

test('a form begins with what is known', () => {
  expect(initialOf(order, order, true)).toEqual({ days: 3, stops: [], pay: { by: 'card' } });
});

test('a draft is read, or what is wrong with it', () => {
  const draft = { city: 'Oslo', days: 2, stops: [{ name: 'Opera', inside: undefined }], pay: { by: 'cash' }, note: undefined };
  expect(read(order, order, draft)).toEqual({ value: { city: 'Oslo', days: 2, stops: [{ name: 'Opera' }], pay: { by: 'cash' } }, problems: [] });
  expect(read(order, order, { days: new Unreadable('x', 'a whole number'), stops: [{}], pay: { by: undefined } }).problems)
    .toEqual(['city is required.', 'days is not a whole number.', 'stops[0].name is required.', 'pay.number is required.']);
  expect(read({}, {}, {})).toEqual({ value: {}, problems: [] });
  expect(read({ type: 'object' }, {}, { any: [1, { b: null }] })).toEqual({ value: { any: [1, { b: null }] }, problems: [] });
});

test('a value shows which of several schemas it is of', () => {
  const shape = shapeOf(order['properties']!['pay' as never], order);
  if (shape.kind !== 'variants') throw new Error(shape.kind);
  expect(shape.variants.map((v) => v.label)).toEqual(['card', 'cash']);
  expect(variantOf(shape, order, { by: 'cash' })).toBe(1);
  const either = shapeOf({ anyOf: [{ type: 'string' }, { type: 'number' }] }, {});
  expect(either.kind === 'variants' && variantOf(either, {}, 3)).toBe(1);
});
