// The kit imports a function of node:fs that Node.js has since version 22, for a command
// that is not used here.
import fs from 'node:fs';
import { register } from 'node:module';

const hooks = `
export const resolve = (name, context, next) =>
  name === 'fs' && context.parentURL.includes('/conformance') ? { url: 'glob:fs', shortCircuit: true } : next(name, context);
export const load = (url, context, next) =>
  url === 'glob:fs'
    ? { format: 'module', shortCircuit: true, source: "export * from 'node:fs'; export const globSync = () => [];" }
    : next(url, context);
`;
if (!fs.globSync) register('data:text/javascript,' + encodeURIComponent(hooks));
