/** Runs all variants of one workload in turn. Each repetition is short, so that disturbances affect all variants. */
import { median } from "../measure.mjs";
import { Random } from "../random.mjs";
import { Variant } from "./variant.mjs";

const REPETITION_MS = 40;
const WARM_MS = 500;
/**
 * The number of stores that are filled at the same time. With two, their pages would be scattered, which would slow the copies of only some variants.
 */
const TOGETHER = 1;

/** @returns the measurements of each variant, or the reason why it was not measured */
export async function race(workload, commandOf, rounds) {
  const waiting = [...workload.variants];
  const entered = [];
  const enter = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const command = commandOf(workload, one);
      const variant = command.missing === undefined ? new Variant(one, command) : { one, says: { skipped: command.missing } };
      if (command.missing === undefined) await variant.ready();
      entered.push(variant);
    }
  };
  try {
    await Promise.all(Array.from({ length: TOGETHER }, enter));
    const sides = workload.variants.map((one) => entered.find((variant) => variant.one === one));
    refuse(sides);
    const running = sides.filter(({ says }) => says.skipped === undefined);
    for (const variant of running) {
      await variant.attempt(() => (workload.frames === undefined ? calibrate(variant) : warm(variant, workload.frames)));
    }
    const random = new Random(23);
    for (let round = 0; round < rounds; round++) {
      for (const variant of shuffled(running, random)) await variant.attempt(async () => variant.samples.push(await variant.repeat()));
    }
    return sides.map((variant) => result(workload, variant));
  } finally {
    for (const variant of entered) variant.end?.();
  }
}

/** Shuffles the order each time, so that no variant always follows the same one. */
function shuffled(all, random) {
  const order = [...all];
  for (let i = order.length - 1; i > 0; i--) {
    const k = random.below(i + 1);
    [order[i], order[k]] = [order[k], order[i]];
  }
  return order;
}

/** Sets the number of frames per repetition, which the workload determines, and runs one repetition to warm the variant up. */
async function warm(variant, frames) {
  variant.n = frames;
  await variant.repeat();
}

/** Determines the number of operations per repetition, which also compiles code and warms it up. */
async function calibrate(variant) {
  let passed = 0;
  for (;;) {
    const start = performance.now();
    const ms = ((await variant.repeat()).ns * variant.n) / 1e6;
    passed += performance.now() - start;
    if (ms >= REPETITION_MS && passed >= WARM_MS) return;
    // If a single operation takes longer than a repetition should, the repetition consists of this operation.
    if (ms < REPETITION_MS) variant.n = Math.ceil(variant.n * Math.min(Math.max((1.2 * REPETITION_MS) / Math.max(ms, 0.01), 1.1), 10));
    else variant.n = Math.max(1, Math.round((variant.n * REPETITION_MS) / ms));
  }
}

/** Returns the sizes that identify columns. Layouts may differ (frames first or last), but the contents of a batch may not. */
function contents({ columns }) {
  return Object.fromEntries(
    columns.map(([name, , shape]) => [
      name,
      shape
        .filter((size) => size !== 1)
        .sort((a, b) => a - b)
        .join("×"),
    ]),
  );
}

/** Excludes variants whose batches lack a column of Reprise's batches, or have it in another size, because such variants do other work. */
export function refuse(sides) {
  const model = sides.find(({ one, says }) => one.side === "ours" && says.skipped === undefined);
  if (model === undefined) return;
  const wanted = contents(model.says);
  for (const variant of sides) {
    if (variant.says.skipped !== undefined) continue;
    const found = contents(variant.says);
    const wrong = Object.keys(wanted).find((name) => found[name] !== wanted[name]);
    if (wrong === undefined) continue;
    const what = found[wrong] === undefined ? "is not there" : `is ${found[wrong]}`;
    variant.says = { skipped: `does other work: ${wrong} ${what}, and ours is ${wanted[wrong]}` };
    variant.end();
  }
}

const total = ({ columns }) => columns.reduce((sum, [, , , bytes]) => sum + bytes, 0);

function result({ task }, { one, says, samples }) {
  const { name, side, apart } = one;
  if (says.skipped !== undefined) return { name, side, apart, skipped: says.skipped };
  const figures = Object.keys(samples[0]).filter((figure) => figure !== "kept");
  const medians = Object.fromEntries(figures.map((figure) => [figure, median(samples.map((sample) => sample[figure]))]));
  // Keeps the maximum instead of the median, because even a single collection counts.
  if (medians.collections !== undefined) medians.collections = Math.max(...samples.map(({ collections }) => collections));
  return { name, side, apart, version: says.version, ...medians, bytes: total(says), memory: says.memory / task.steps };
}
