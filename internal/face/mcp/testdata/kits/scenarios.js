// Runs scenarios of one kit in one process, since most of the time of a process is spent
// on loading the kit: each line of the input has the number and the arguments of one, and
// each line of the output the number, the exit code and the text of one that has ended.
// The kit's own module is loaded for each scenario, and the packages that it needs once.
import { AsyncLocalStorage } from 'node:async_hooks';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';

const program = path.resolve(process.argv[2]);
const current = new AsyncLocalStorage();
const { exit } = process;
const write = process.stdout.write.bind(process.stdout);

process.exit = (code = process.exitCode ?? 0) => {
  current.getStore().end(code);
  throw new Ended(); // what calls process.exit does not expect it to return
};
class Ended extends Error {}

for (const name of ['log', 'info', 'warn', 'error', 'debug']) {
  console[name] = (...args) => current.getStore().text.push(format(...args));
}
const failed = (err) => {
  if (err instanceof Ended) return;
  const run = current.getStore();
  if (!run) throw err;
  run.text.push(format(err));
  run.end(1);
};
process.on('uncaughtException', failed);
process.on('unhandledRejection', failed);

let loaded = Promise.resolve(); // the kit reads its arguments while it is loaded, so one after the other
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, args } = JSON.parse(line);
  const run = {
    text: [],
    end(code) {
      if (!run.ended) write(JSON.stringify({ id, code, text: run.text.join('\n') }) + '\n');
      run.ended = true;
    },
  };
  loaded = loaded.then(() =>
    current.run(run, async () => {
      process.argv = [process.argv[0], program, ...args];
      await import(pathToFileURL(program).href + '?' + id).catch(failed);
    }),
  );
}).on('close', () => exit(0));
