/** Passes hostile values to batched observers and to containers of variables. */
import { test } from "vitest";
import { f32, i32, i64, Replay } from "../../../src/index.ts";
import { BatchedObserverUnbatching, ReverbVariableContainer, trajectorySpec } from "../../../src/tf-agents/index.ts";
import { type Attacked, attack } from "../../support/attack.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls with any values
type Any = any;

/** Returns a new step each time, because an attack changes its arguments. */
const step = () => trajectorySpec({ observation: { a: f32(2), pair: [i64(), f32(1)] }, action: i32() });
const VARIABLES = { policy_variables: [f32(2, 2), f32(2)], train_step: i64() };

function worldOf(seed: number) {
  const replay = new Replay({ spec: VARIABLES, tables: { variables: { maxSize: 1 }, other: { maxSize: 1 } }, seed, logger: null });
  return {
    replay: replay as unknown as Replay,
    container: new ReverbVariableContainer(replay, { tableNames: ["variables", "other"] }) as Any,
    batched: new BatchedObserverUnbatching(() => () => undefined, { batchSize: 2, spec: step() }) as Any,
    free: new BatchedObserverUnbatching(() => () => undefined, { batchSize: 2 }) as Any,
  };
}
type World = ReturnType<typeof worldOf>;

const nest = () => ({ policy_variables: [[[1, 2], [3, 4]], Float32Array.of(5, 6)], train_step: { data: BigInt64Array.of(7n), shape: [] } }); // biome-ignore format: short
const variables = () => ({ policy_variables: [new Float32Array(4), { data: new Float32Array(2), shape: [2] }], train_step: { assign: () => undefined } });
const batch = () => ({
  ...{
    stepType: new Int32Array(2),
    observation: {
      a: Float32Array.of(1, 2, 3, 4),
      pair: [
        [1n, 2n],
        [[1], [2]],
      ],
    },
    action: [0, 1],
  },
  ...{ policyInfo: [], nextStepType: [1, 1], reward: Float32Array.of(1, 2), discount: { data: Float32Array.of(1, 2), shape: [2] } },
});
const signal = () => new AbortController().signal;

const CALLS: Attacked<World>["calls"] = {
  push: [() => [nest(), { table: "other", signal: signal(), timeoutMs: 1000 }], ({ container }, args) => container.push(...args)],
  "push without options": [() => [nest()], ({ container }, args) => container.push(...args)],
  pull: [() => [{ table: "variables", signal: signal(), timeoutMs: 1000 }], ({ container }, args) => container.pull(...args)],
  update: [() => [variables(), { table: "variables", signal: signal() }], ({ container }, args) => container.update(...args)],
  "new ReverbVariableContainer": [
    ({ replay }) => [replay, { tableNames: ["variables", "other"] }],
    (_, args) => new ReverbVariableContainer(...(args as unknown as [never, never])),
  ],
  "batched()": [() => [batch()], ({ batched }, args) => batched(...args)],
  "free()": [() => [batch()], ({ free }, args) => free(...args)],
  "free(flat)": [() => [[new Int32Array(2), Float32Array.of(1, 2, 3, 4), [1, 2]]], ({ free }, args) => free(...args)],
  "batched.reset": [() => [false], ({ batched }, args) => batched.reset(...args)],
  "batched.flush": [() => [{ timeoutMs: 1, signal: signal() }], ({ batched }, args) => batched.flush(...args)],
  "new BatchedObserverUnbatching": [
    () => [() => () => undefined, { batchSize: 3, spec: step() }],
    (_, args) => new BatchedObserverUnbatching(...(args as unknown as [never, never])),
  ],
};

const GOOD: Attacked<World>["good"] = {
  sample: ({ replay }) => (replay as Any).table("variables").sample(1),
  batched: ({ batched }) => batched(batch()),
};

const seeds = Array.from({ length: scaled(60, 3) }, (_, i) => i + 1);

test.each(seeds)("batched observers and variable containers stay consistent when called with hostile values, seed %i", async (seed) => {
  const world = worldOf(seed);
  const { replay, container } = world;
  for (const table of ["variables", "other"]) await container.push(nest(), { table });
  await attack(new TestRandom(seed), world, { calls: CALLS, good: GOOD, bytes: () => bytesOf(replay), broken: () => broken(replay) }, 80, `seed ${seed}`);
});
