import { expect, test } from 'vitest';

import { tokensOf, type Token } from './highlight';

const scopes = (tokens: Token[] | undefined): string[] => (tokens ?? []).flatMap((t) => (typeof t === 'string' ? [] : [t.scope ?? '', ...scopes(t.children)]));

test.each([
  ['c', 'int main(void) { return 0; }', 'type'],
  ['h', '#define SIZE 4', 'meta'],
  ['cpp', 'template <typename T> class Box {};', 'keyword'],
  ['c++', 'namespace a {}', 'keyword'],
  ['csharp', 'public record Point(int X);', 'keyword'],
  ['cs', 'using System;', 'keyword'],
  ['php', '<?php function greet() { return "hi"; }', 'keyword'],
  ['ruby', 'def greet; end', 'keyword'],
  ['rb', 'def greet; end', 'keyword'],
  ['kotlin', 'fun main() {}', 'keyword'],
  ['swift', 'let x = 1', 'keyword'],
  ['toml', '[package]\nname = "a"', 'section'],
  ['ini', '[package]\nname = a', 'section'],
  ['dockerfile', 'FROM alpine\nRUN true', 'keyword'],
  ['makefile', 'all: ; @echo $(NAME)', 'variable'],
])('code in %s is coloured', (language, code, scope) => {
  const tokens = tokensOf(code, language);
  expect(scopes(tokens)).toContain(scope);
  const text = (list: Token[]): string => list.map((t) => (typeof t === 'string' ? t : text(t.children))).join('');
  expect(text(tokens!)).toBe(code);
});

test('code in a language that is not known is as it was written', () => {
  expect(tokensOf('x', 'klingon')).toBeUndefined();
});
