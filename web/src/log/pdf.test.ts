import { expect, test } from 'vitest';

import { pagesOf, sizeText } from './pdf';

const tree = (count: number) => `1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R 4 0 R] /Count ${count} >>\nendobj\n3 0 obj\n<</Type/Pages/Parent 2 0 R/Kids[5 0 R]/Count 1>>\nendobj\n`;
const pages = (text: string, more = 0) => pagesOf(text, text.length + more);

test('the pages of a PDF', () => {
  const plain = `%PDF-1.4\n${tree(3)}%%EOF\n`;
  expect(pages(plain)).toBe(3);
  expect(pages(`${plain}${tree(4)}%%EOF\n`), 'changed afterwards').toBe(4);
  expect(pages(`${plain}9 0 obj\n<< /Type /ObjStm >>\nstream`), 'perhaps changed afterwards').toBeUndefined();
  expect(pages(plain, 1), 'only its beginning').toBeUndefined();
  expect(pages('%PDF-1.7\n1 0 obj\n<< /Type /ObjStm >>\nstream'), 'compressed').toBeUndefined();
  expect(pages('hello')).toBeUndefined();
  expect(pages('%PDF-1.4\n2 0 obj\n<< /Type /Pages /Count 9 0 R >>\nendobj'), 'elsewhere').toBeUndefined();
  expect(pages('%PDF-1.4\n' + '2 0 obj << /Type /Pages /Parent 1 0 R >> endobj\n'.repeat(1000))).toBeUndefined();
});

test('the pages of a PDF that was made for the web are at its beginning', () => {
  const text = '%PDF-1.5\n%\n7 0 obj\n<< /Linearized 1 /L 900000 /H [ 500 30 ] /O 9 /E 4000 /N 12 /T 89000 >>\nendobj\n';
  expect(pagesOf(text, 900000)).toBe(12);
  expect(pagesOf(text, 900001), 'changed afterwards').toBeUndefined();
});

test('sizes', () => {
  expect([sizeText(0), sizeText(1), sizeText(1023), sizeText(1025), sizeText(3 << 20, 1), sizeText(5000, 12)]).toEqual(['0 bytes', '1 byte', '1023 bytes', '2 KB', '1 page, 3.0 MB', '12 pages, 5 KB']);
});
