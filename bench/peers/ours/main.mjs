// Runs the process of a Reprise variant: creates the measured object, describes it, then does n operations for each line with a number n.
import { createInterface } from "node:readline";

const task = JSON.parse(process.argv[2]);
const { make } = await import(`./${task.program}.mjs`);
globalThis.gc();
const before = process.memoryUsage.rss();
const made = await make(task);
globalThis.gc();
const { skipped, columns } = made;
let kept;
if (skipped !== undefined) say({ skipped });
else {
  say({ columns, memory: process.memoryUsage.rss() - before });
  for await (const line of createInterface({ input: process.stdin })) say(await (made.measure ?? timed)(Number(line)));
}

function timed(n) {
  const start = process.hrtime.bigint();
  kept = made.run(n);
  return { ns: Number(process.hrtime.bigint() - start), kept: Number(kept ?? 0) };
}

function say(answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
