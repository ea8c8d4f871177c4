// Hosts as the URL Standard reads and writes them.
import { host } from "./host.js";
import { percentDecode, percentEncode } from "./query.js";

const forbidden = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const forbiddenInDomain = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;

/** A host in its canonical form, or null if it is not valid. */
export function parseHost(text, special) {
  if (text.startsWith("[")) {
    const address = text.endsWith("]") ? parseIPv6(text.slice(1, -1)) : null;
    return address && `[${formatIPv6(address)}]`;
  }
  if (!special) return forbidden.test(text) ? null : percentEncode(text, /[^\x20-\x7e]/gu);
  const domain = toASCII(percentDecode(text));
  if (!domain || forbiddenInDomain.test(domain)) return null;
  return endsInNumber(domain) ? parseIPv4(domain) : domain;
}

/** A name with the characters that Unicode maps to others, in Punycode; empty if it is not valid. Go has the tables. */
function toASCII(domain) {
  if (!/[^\0-\x7f]/.test(domain) && !/(?:^|\.)xn--/i.test(domain)) return domain.toLowerCase();
  return host("domain", { name: domain });
}

function number(text) {
  if (/^0[xX][0-9a-fA-F]*$/.test(text)) return text.length === 2 ? 0 : parseInt(text, 16);
  if (/^0[0-7]+$/.test(text)) return parseInt(text, 8);
  return /^[0-9]+$/.test(text) && !/^0[0-9]/.test(text) ? parseInt(text, 10) : NaN;
}

function endsInNumber(domain) {
  const parts = domain.split(".");
  if (parts.at(-1) === "" && parts.length > 1) parts.pop();
  const last = parts.at(-1);
  return /^[0-9]+$/.test(last) || /^0[xX][0-9a-fA-F]*$/.test(last);
}

function parseIPv4(domain) {
  const parts = domain.split(".");
  if (parts.at(-1) === "" && parts.length > 1) parts.pop();
  const numbers = parts.map(number);
  const last = numbers.pop();
  if (numbers.length > 3 || numbers.some((n) => !(n <= 255)) || !(last < 256 ** (4 - numbers.length))) return null;
  let address = last;
  numbers.forEach((n, i) => (address += n * 256 ** (3 - i)));
  return [3, 2, 1, 0].map((i) => Math.floor(address / 256 ** i) % 256).join(".");
}

function parseIPv6(text) {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const pieces = halves.map((half) => (half === "" ? [] : half.split(":")));
  const lastHalf = pieces.at(-1);
  if (lastHalf.at(-1)?.includes(".")) {
    const v4 = lastHalf.pop().split(".");
    if (v4.length !== 4 || v4.some((p) => !/^(0|[1-9][0-9]{0,2})$/.test(p) || p > 255)) return null;
    lastHalf.push(((v4[0] << 8) | v4[1]).toString(16), ((v4[2] << 8) | v4[3]).toString(16));
  }
  const count = pieces.flat().length;
  if (pieces.flat().some((p) => !/^[0-9a-fA-F]{1,4}$/.test(p)) || (halves.length === 1 ? count !== 8 : count > 7))
    return null;
  const zeros = Array(8 - count).fill("0");
  return (halves.length === 1 ? pieces[0] : [...pieces[0], ...zeros, ...pieces[1]]).map((p) => parseInt(p, 16));
}

function formatIPv6(address) {
  let best = { at: -1, length: 1 };
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (i + length < 8 && address[i + length] === 0) length++;
    if (length > best.length) best = { at: i, length };
  }
  const hex = address.map((n) => n.toString(16));
  if (best.at < 0) return hex.join(":");
  return `${hex.slice(0, best.at).join(":")}::${hex.slice(best.at + best.length).join(":")}`;
}
