// Formulas in Markdown, as models write them: $a$, $$a$$, \(a\) and \[a\].

/** The longest formula that is set. */
export const longestFormula = 2000;

const display = '\\displaystyle ';

// Code is left alone, and so is what a backslash escapes. A dollar begins a formula before a character that is not
// space, and ends one after such a character and not before a letter or a digit: "$5 and $10" are prices.
const places = new RegExp(
  [
    '^ {0,3}(`{3,}|~{3,})[^\\n]*\\n[\\s\\S]*?(?:^ {0,3}\\1[`~]*[^\\S\\n]*$|(?![\\s\\S]))',
    '(`+)(?!`)[\\s\\S]{0,2000}?[^`]\\2(?!`)',
    `\\\\\\[([\\s\\S]{1,${longestFormula}}?)\\\\\\]`,
    `\\\\\\(([\\s\\S]{1,${longestFormula}}?)\\\\\\)`,
    '\\\\[\\s\\S]',
    `\\$\\$(?!\\$)([\\s\\S]{1,${longestFormula}}?)\\$\\$`,
    `(?<![\\w$])\\$(?![\\s$])([^$\\n\`]{0,${longestFormula}}?[^\\s$\\\\\`])\\$(?![\\w$])`,
  ].join('|'),
  'gm',
);

/** Whether a text may have formulas. */
export const hasMath = (text: string) => text.length < 200_000 && /\$|\\[([]/.test(text);

/** A text with its formulas between two dollars on one line, which is what the parser knows. */
export function withMath(text: string): string {
  if (!hasMath(text)) return text;
  return text.replace(places, (all, _fence, _code, bracket?: string, paren?: string, dollars?: string, dollar?: string) => {
    const block = bracket ?? dollars;
    const formula = (block ?? paren ?? dollar)?.replace(/\s+/g, ' ').trim();
    if (!formula || formula.includes('$')) return all;
    return `$$${block === undefined ? '' : display}${formula}$$`;
  });
}

/** A formula, and whether it stands by itself. */
export const formulaOf = (value: string): { formula: string; block: boolean } =>
  value.startsWith(display) ? { formula: value.slice(display.length), block: true } : { formula: value, block: false };
