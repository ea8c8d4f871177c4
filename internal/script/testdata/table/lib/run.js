// Runs the tools in Node.js, and prints what they give.
import { register } from "node:module";
register("./hooks.js", import.meta.url);

const all = {};
for (const name of process.argv.slice(2)) {
  try {
    const { rootAgent } = await import(`../${name}.js`);
    all[name] = await rootAgent.tools[0].execute();
  } catch (error) {
    all[name] = { error: `${error}` };
  }
}
process.stdout.write("\u0000" + JSON.stringify(all), () => process.exit(0));
