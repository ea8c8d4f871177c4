/** How much of a file is read to find out how many pages it has. */
export const mostOfPDF = 256 << 10;

const mostTrees = 100;
const longestObject = 64 << 10;

/**
 * How many pages a PDF has, if that can be read without understanding all of the file: undefined if not, for example
 * because its objects are compressed. text is its beginning, a character for each byte, and size that of the file.
 */
export function pagesOf(text: string, size: number): number | undefined {
  if (!text.slice(0, 1024).includes('%PDF-')) return undefined;
  // A file that was made for the web says it at its beginning, as long as it was not changed afterwards.
  const linear = /<<[^>]{0,500}\/Linearized\b[^>]{0,500}>>/.exec(text.slice(0, 2048))?.[0] ?? '';
  if (numberOf('L', linear) === size) return numberOf('N', linear);
  if (text.length < size) return undefined; // what was written last counts
  let [pages, from]: [number | undefined, number] = [undefined, 0];
  let trees = 0;
  for (const { index } of text.matchAll(/\/Type\s*\/Pages\b/g)) {
    if (++trees > mostTrees) return undefined;
    const start = text.lastIndexOf(' obj', index);
    const end = text.indexOf('endobj', index);
    if (start < 0 || end < 0 || end - start > longestObject) return undefined;
    const object = text.slice(start, end);
    if (!/\/Parent\b/.test(object)) [pages, from] = [numberOf('Count', object), index];
  }
  return text.includes('/ObjStm', from) ? undefined : pages; // there may be another one, which is compressed
}

function numberOf(name: string, object: string): number | undefined {
  const found = new RegExp(`/${name}\\s+(\\d{1,9})\\b(?!\\s+\\d+\\s+R\\b)`).exec(object)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** The size of a file, and its pages if they are known, in a few words. */
export function sizeText(size: number, pages?: number): string {
  const bytes = size < 1024 ? `${size} ${size === 1 ? 'byte' : 'bytes'}` : size < 1024 * 1024 ? `${Math.ceil(size / 1024)} KB` : `${(size / 1024 / 1024).toFixed(1)} MB`;
  return pages === undefined ? bytes : `${pages} ${pages === 1 ? 'page' : 'pages'}, ${bytes}`;
}
