/** Runs a case of RLDS: specs, conversions, and the table after a push. */

import {
  convertRldsToTrajectories,
  createTrajectoryDataSpec,
  type PolicyInfoFn,
  pushRldsToReverb,
  type RldsDataset,
  type RldsStep,
} from "../../../src/datasets/rlds/index.ts";
import { type ColumnLike, f32, fifo, type Leaf, Replay, type Spec } from "../../../src/index.ts";
import {
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
  ReverbTrajectorySequenceObserver,
  type Trajectory,
  trajectorySpec,
} from "../../../src/tf-agents/index.ts";
import { camel } from "../arguments.ts";
import { isObject, Malformed, type Result, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import { nested, nestedColumn } from "../nested.ts";
import { scalars } from "../observers/trajectory-form.ts";
import type { Outcome } from "../outcome.ts";
import { build, ourSpec } from "../step-spec.ts";
import { rldsDepartures } from "./departures.ts";
import { POLICY_INFO } from "./fields.ts";

export interface RldsCase {
  readonly name: string;
  readonly spec: unknown;
  readonly episodes: readonly (readonly unknown[])[];
  readonly raw?: string;
  readonly policy_info_fn?: string;
  readonly episode_metadata?: { readonly [name: string]: readonly unknown[] };
  readonly ops: readonly (readonly [kind: string, args?: PushArgs])[];
  readonly expect: { readonly results: readonly Result[] };
}

export interface PushArgs {
  readonly class: string;
  /** If set, the table is created for steps with this `spec` instead of for the pushed data. Without a `spec`, the case's spec applies. */
  readonly table_like?: { readonly spec?: unknown };
  /** Whether the observer is flushed before its items are compared. */
  readonly flush?: boolean;
  readonly [name: string]: unknown;
}

type Observer = ((step: Trajectory) => Promise<void> | undefined) & Pick<ReverbAddTrajectoryObserver, "flush" | "getTableSignature">;

const CLASSES = { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver, ReverbTrajectorySequenceObserver } as unknown as {
  readonly [name: string]: new (client: Replay, options: object) => Observer;
};

/** The kinds of our errors that are accepted for each type of recorded error. */
const KINDS: { readonly [type: string]: readonly string[] } = {
  ValueError: ["SPEC_MISMATCH", "EMPTY"],
  InvalidArgumentError: ["INVALID_DATA"],
  KeyError: ["SPEC_MISMATCH", "TypeError"],
};

const NUMPY: { readonly [dtype: string]: string } = {
  ...{ bool: "bool", i8: "int8", u8: "uint8", i16: "int16", u16: "uint16", i32: "int32", u32: "uint32" },
  ...{ i64: "int64", u64: "uint64", f32: "float32", f64: "float64" },
};

export async function runRldsCase(raw: { readonly [key: string]: unknown }): Promise<Outcome> {
  const test = raw as unknown as RldsCase;
  let departs = false;
  let rule: string | undefined;
  const told = () => ({ name: test.name, departs, rule });
  try {
    if (!Array.isArray(test.ops) || !Array.isArray(test.expect?.results)) throw new Malformed("ops and expect.results must be there");
    if (test.policy_info_fn !== undefined && POLICY_INFO[test.policy_info_fn] === undefined)
      throw new Malformed(`unknown policy_info_fn ${test.policy_info_fn}`);
    const data = datasetOf(test);
    const departures = rldsDepartures(test);
    for (const [i, op] of test.ops.entries()) {
      const recorded = test.expect.results[i];
      if (!isObject(recorded)) throw new Malformed(`op ${i} has no result`);
      let expected = recorded;
      for (const departure of departures) {
        const before = expected;
        expected = departure.result(op, before);
        if (expected !== before) [departs, rule] = [true, departure.rule];
      }
      const why = await opDifference(test, data, op, expected);
      if (why !== undefined) return { ...told(), state: "failed", why: `op ${i} ${op[0]}: ${why}` };
    }
    return { ...told(), state: "passed" };
  } catch (error) {
    return {
      ...told(),
      state: "failed",
      why: whyNotRun(error),
    };
  }
}

/** Returns the episodes of the case as a dataset. Its `stepSpec` corresponds to the element spec of a `tf.data.Dataset`. */
function datasetOf(test: RldsCase): RldsDataset {
  if (test.raw === "no steps field") return [{ other: 1 }] as unknown as RldsDataset;
  if (test.raw === "other step fields") return [{ steps: [{ random1: 1, random2: 2 }] }] as unknown as RldsDataset;
  if (test.raw !== undefined) throw new Malformed(`unknown raw data ${JSON.stringify(test.raw)}`);
  const episodes = test.episodes.map((steps, i) => ({
    steps: steps.map((step) => scalars(test.spec, build(test.spec, step)) as RldsStep),
    ...Object.fromEntries(Object.entries(test.episode_metadata ?? {}).map(([name, values]) => [name, values[i]])),
  }));
  return Object.assign(episodes, { stepSpec: ourSpec(test.spec) });
}

async function opDifference(test: RldsCase, data: RldsDataset, [kind, args]: RldsCase["ops"][number], expected: Result): Promise<string | undefined> {
  const policyInfoFn = POLICY_INFO[test.policy_info_fn ?? ""];
  switch (kind) {
    case "spec":
      return againstError(expected, async () => {
        // The recorded `create_trajectory_data_spec` has no argument for a policy_info_fn.
        const got = shown(await createTrajectoryDataSpec(data));
        return valueDifference(".spec", held(expected.spec), got);
      });
    case "convert":
      return convertDifference(data, policyInfoFn, expected);
    case "push":
      if (!isObject(args) || CLASSES[args.class] === undefined) throw new Malformed(`push needs a class of observer, got ${JSON.stringify(args)}`);
      return pushDifference(test, data, args, expected);
    default:
      throw new Malformed(`unknown op ${JSON.stringify(kind)}`);
  }
}

async function convertDifference(data: RldsDataset, policyInfoFn: PolicyInfoFn | undefined, expected: Result): Promise<string | undefined> {
  const got: Trajectory[] = [];
  const why = await againstError(expected, async () => {
    for await (const trajectory of convertRldsToTrajectories(data, policyInfoFn)) got.push(trajectory);
    return undefined;
  });
  // Data without a valid step may have no spec. A trajectory proves that the data has one.
  const spec = got.length === 0 ? undefined : await createTrajectoryDataSpec(data, policyInfoFn);
  const plain = got.map((trajectory) => theirFields(shaped(spec as Spec, trajectory)));
  const found = why ?? valueDifference(".trajectories", expected.trajectories, plain);
  if (found !== undefined || expected.dtypes === undefined || spec === undefined) return found;
  return valueDifference(".dtypes", expected.dtypes, dtypes(spec));
}

async function pushDifference(test: RldsCase, data: RldsDataset, args: PushArgs, expected: Result): Promise<string | undefined> {
  const { class: name, table_like, flush = true, ...options } = args;
  const policyInfoFn = POLICY_INFO[test.policy_info_fn ?? ""];
  const like =
    table_like === undefined
      ? data
      : (Object.assign({ [Symbol.asyncIterator]: () => episodesOf(data) }, { stepSpec: ourSpec(table_like.spec ?? test.spec) }) as unknown as RldsDataset);
  // If the data has no valid spec, the push is expected to fail, so any table will do.
  const spec: Spec = await createTrajectoryDataSpec(like, policyInfoFn).catch(() => trajectorySpec({ observation: f32(), action: f32() }));
  const replay = new Replay<Spec, string>({ spec, tables: { t: { maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 } }, maxBytes: 2 ** 28, logger: null });
  try {
    const quiet = name === "ReverbAddEpisodeObserver" ? { onWarning: () => {} } : {};
    const made = Object.fromEntries(Object.entries(options).map(([key, value]) => [camel(key), value]));
    let observer: Observer | undefined;
    let calls = 0;
    const push = () => {
      const own = new (CLASSES[name] as (typeof CLASSES)[string])(replay as unknown as Replay, { tableName: "t", ...quiet, ...made });
      observer = own;
      const call = (step: Trajectory) => {
        calls++;
        return own(step);
      };
      return pushRldsToReverb(data, Object.assign(call, { getTableSignature: () => own.getTableSignature() }), policyInfoFn);
    };
    // An observer throws a RangeError for an invalid argument, or for an episode that is longer than its limit.
    const refuses = expected.observer_calls === 0 ? [] : ["RangeError"];
    const why = await againstError(expected, async () => valueDifference(".pushed", expected.pushed, await push()), refuses);
    // If the constructor throws, there is no observer, and the number of calls must be undefined.
    const found = why ?? valueDifference(".observer_calls", expected.observer_calls, observer && calls);
    if (found !== undefined || expected.items === undefined || !flush) return found;
    await observer?.flush();
    const items = itemsOf(replay);
    // After a fault (`some`), our table may contain fewer items than the recorded one.
    const wanted = expected.some === true ? (expected.items as unknown[]).slice(0, items.length) : expected.items;
    return valueDifference(".items", wanted, items);
  } finally {
    replay.dispose();
  }
}

function itemsOf(replay: Replay<Spec, string>): unknown[] {
  const items: unknown[] = [];
  for (;;) {
    const { count, steps, info } = replay.table("t").sample(1, { cross: true });
    if (count === 0) return items;
    items.push({
      table: "t",
      priority: info.priorities[0],
      columns: theirFields(mapped(steps, ({ data, shape }) => nestedColumn({ data, shape: shape.slice(1) } as ColumnLike))),
    });
  }
}

/** Calls `answer` and checks that it throws the expected error. If no error is expected, returns its result, which is a difference or undefined. */
async function againstError({ error }: Result, answer: () => Promise<string | undefined>, more: readonly string[] = []): Promise<string | undefined> {
  let thrown: unknown;
  try {
    const found = await answer();
    if (error === undefined) return found;
  } catch (caught) {
    thrown = caught;
  }
  if (error === undefined) return `expected no error, got ${(thrown as Error)?.stack}`;
  const { kind, type } = error as { readonly kind?: string; readonly type?: string };
  const others = ["RangeError", "TypeError", "INVALID_DATA"];
  const wanted = kind === undefined ? [...(KINDS[type as string] ?? others), ...more] : [kind];
  const got = kindOf(thrown);
  return got !== undefined && wanted.includes(got) ? undefined : `expected ${wanted.join(" or ")}, got ${thrown}`;
}

/** Converts the camelCase names of fields to the recorded snake_case names. */
function theirFields(step: unknown): unknown {
  return Object.fromEntries(Object.entries(step as object).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]));
}

/** Returns a trajectory as plain lists, nested like its spec. */
function shaped(spec: Spec, value: unknown): unknown {
  if (Array.isArray(spec)) return spec.map((node, i) => shaped(node, (value as unknown[])[i]));
  const { dtype, shape } = spec as Leaf;
  const child = (name: string) => shaped((spec as { readonly [name: string]: Spec })[name] as Spec, (value as { readonly [name: string]: unknown })[name]);
  if (typeof dtype !== "string") return Object.fromEntries(Object.keys(spec).map((name) => [name, child(name)]));
  return typeof value === "object" ? nested(Array.from(value as ArrayLike<number>, Number), shape) : Number(value);
}

/** Applies `make` to every leaf or column of a nest. */
function mapped(node: unknown, make: (leaf: { readonly dtype: string; readonly data: never; readonly shape: readonly number[] }) => unknown): unknown {
  if (Array.isArray(node)) return node.map((each) => mapped(each, make));
  const given = node as { readonly dtype?: unknown; readonly data?: unknown };
  if (typeof given.dtype === "string" || ArrayBuffer.isView(given.data)) return make(node as never);
  return Object.fromEntries(Object.entries(node as object).map(([name, each]) => [name, mapped(each, make)]));
}

function dtypes(spec: Spec): unknown {
  return theirFields(mapped(spec, ({ dtype }) => NUMPY[dtype]));
}

interface Bounds {
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Returns the parts of a recorded spec that are compared: dtype, shape, bounds. */
function held(spec: unknown): unknown {
  return mapped(spec, (leaf) => {
    const { dtype, shape, minimum, maximum } = leaf as typeof leaf & Bounds;
    return { dtype, shape, minimum, maximum };
  });
}

function shown(spec: Spec): unknown {
  return theirFields(
    mapped(spec, (leaf) => {
      const { dtype, shape, minimum, maximum } = leaf as unknown as Leaf & Bounds;
      return { dtype: NUMPY[dtype], shape, minimum, maximum };
    }),
  );
}

async function* episodesOf(data: RldsDataset): AsyncGenerator<unknown> {
  for await (const episode of data) yield episode;
}
