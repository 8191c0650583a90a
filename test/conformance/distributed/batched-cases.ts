/** Runs a case of BatchedObserverUnbatching (variants/distributed.py), on any client. */
import { type Column, fifo, flatten, pack, type Spec } from "../../../src/index.ts";
import {
  BatchedObserverUnbatching,
  type Client,
  type DelegatedObserver,
  LocalClient,
  ReverbAddEpisodeObserver,
  ReverbAddTrajectoryObserver,
} from "../../../src/tf-agents/index.ts";
import { camel } from "../arguments.ts";
import { Malformed, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import { nestedColumn } from "../nested.ts";
import { ourFields, trajectorySpecOf } from "../observers/trajectory-form.ts";
import type { Outcome } from "../outcome.ts";
import { build } from "../step-spec.ts";
import { columnsOf } from "./columns.ts";

const CLASSES = { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver } as unknown as {
  readonly [name: string]: new (client: unknown, options: object) => DelegatedObserver & { readonly cachedSteps: number };
};
const KINDS: { readonly [type: string]: readonly string[] } = { ValueError: ["CLOSED", "RangeError"] };
const ORDER = ["stepType", "observation", "action", "policyInfo", "nextStepType", "reward", "discount"];

export interface BatchedCase {
  readonly name: string;
  readonly class: string;
  readonly batch_size: number;
  readonly args: { readonly [name: string]: unknown };
  readonly spec: unknown;
  readonly ops: readonly (readonly [kind: string, args?: { readonly [name: string]: unknown }])[];
  readonly expect: {
    readonly calls?: readonly (readonly (readonly [number, unknown])[])[];
    readonly sizes: readonly (readonly number[])[];
    readonly cached: readonly (readonly number[])[];
    readonly errors: readonly { readonly op: number; readonly type: string }[];
    readonly items?: readonly { readonly table: string; readonly priority: number; readonly columns: readonly unknown[] }[];
  };
}

interface BatchedDeparture {
  readonly rule: string;
  /** The kind of the expected error by the number of the op. The other ops must succeed. */
  readonly errors: { readonly [op: number]: string };
  readonly sizes: readonly (readonly number[])[];
}

const WHOLE = "a batch of another size is refused, nothing is dropped";
/** The departures by the name of the case. See POLICY.md and departures.md. */
export const BATCHED: { readonly [name: string]: BatchedDeparture } = {
  batched_larger: { rule: WHOLE, errors: { 0: "SPEC_MISMATCH" }, sizes: [[0, 0]] },
  batched_smaller: { rule: WHOLE, errors: { 0: "SPEC_MISMATCH" }, sizes: [[0, 0], [1, 1]] }, // biome-ignore format: a row an op
  batched_ragged: { rule: WHOLE, errors: { 0: "SPEC_MISMATCH" }, sizes: [[0, 0]] },
  batched_closed_one: {
    rule: "a failure of one observer leaves the others whole",
    errors: { 1: "CLOSED", 2: "CLOSED" },
    sizes: [[0, 0, 0], [1, 0, 1], [2, 0, 2], [2, 0, 2], [3, 1, 3]], // biome-ignore format: a row an op
  },
};

/** Returns the names of a case's tables, one per observer. */
export function batchedTables({ batch_size }: BatchedCase): string[] {
  return Array.from({ length: batch_size }, (_, i) => `t${i}`);
}

export async function runBatchedCase(raw: { readonly [key: string]: unknown }): Promise<Outcome> {
  const test = raw as unknown as BatchedCase;
  const departure = Object.hasOwn(BATCHED, test.name) ? BATCHED[test.name] : undefined;
  const told = { name: test.name, departs: departure !== undefined, ...(departure && { rule: departure.rule }) };
  try {
    for (const form of ["arrays", "columns"] as const) {
      const tables = batchedTables(test).map((name) => ({ name, maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 }));
      const client = LocalClient.of<Spec>({ spec: trajectorySpecOf(test.spec), tables, maxBytes: 2 ** 28, logger: null });
      const why = await playBatched(test, client as unknown as Client, form);
      client.replay.dispose();
      if (why !== undefined) return { ...told, state: "failed", why: `as ${form}: ${why}` };
    }
    return { ...told, state: "passed" };
  } catch (error) {
    return { ...told, state: "failed", why: whyNotRun(error) };
  }
}

/** Runs a case and returns its first difference. @param client a client whose server has the tables of the case, all empty */
export async function playBatched(test: BatchedCase, client: Client, form: "arrays" | "columns"): Promise<string | undefined> {
  const { expect, ops } = test;
  const departure = Object.hasOwn(BATCHED, test.name) ? BATCHED[test.name] : undefined;
  const isFunction = test.class === "function";
  const args = Object.fromEntries(Object.entries(test.args).map(([name, value]) => [camel(name), value]));
  let calls: unknown[] = [];
  const create = (i: number): DelegatedObserver => {
    if (isFunction) return (row: unknown) => void calls.push([i, plain(row)]);
    return new (CLASSES[test.class] as (typeof CLASSES)[string])(client, { tableName: `t${i}`, ...args });
  };
  const unbatching = new BatchedObserverUnbatching(create, { batchSize: test.batch_size, ...(isFunction && { spec: trajectorySpecOf(test.spec) }) });
  for (const [i, [kind, given = {}]] of ops.entries()) {
    calls = [];
    let error: unknown;
    try {
      await act(test, unbatching, kind, given, form);
    } catch (thrown) {
      error = thrown;
    }
    // The flush of a closed observer is rejected.
    await Promise.allSettled(unbatching.delegatedObservers.map(async (observer) => await observer.flush?.()));
    const recorded = expect.errors.find(({ op }) => op === i);
    const kinds = departure === undefined ? recorded && (KINDS[recorded.type] ?? []) : departure.errors[i] === undefined ? undefined : [departure.errors[i]];
    const got = error === undefined ? undefined : (kindOf(error) ?? String((error as Error).stack));
    if (kinds === undefined ? got !== undefined : !kinds.includes(String(got))) return `op ${i} ${kind}: expected ${kinds ?? "no error"}, got ${got ?? "none"}`;
    const found = isFunction
      ? valueDifference(
          ".calls",
          expect.calls?.[i]?.map(([k, row]) => [k, ourFields(row)]),
          calls,
        )
      : ((await sizesDifference(test, client, departure?.sizes[i] ?? expect.sizes[i], i)) ?? cachedDifference(test, unbatching.delegatedObservers, i));
    if (found !== undefined) return `op ${i} ${kind}: ${found}`;
  }
  if (isFunction) return undefined;
  const items = await itemsOf(test, client);
  unbatching.close();
  if (departure !== undefined)
    return valueDifference(
      ".items.length",
      departure.sizes.at(-1)?.reduce((sum, n) => sum + n, 0),
      items.length,
    );
  return valueDifference(".items", expect.items, items);
}

async function act({ spec, batch_size }: BatchedCase, unbatching: BatchedObserverUnbatching, kind: string, given: object, form: string): Promise<void> {
  if (kind === "step") {
    const arrays = ourFields(given);
    if (form === "arrays") return await unbatching(arrays);
    return await unbatching(columnsOf(ourFields(spec), build(ourFields(spec), arrays), batch_size) as object);
  }
  if (kind === "reset") return await unbatching.reset((given as { write_cached_steps?: boolean }).write_cached_steps);
  if (kind === "close_one") return void unbatching.delegatedObservers[(given as { index: number }).index]?.close?.();
  if (kind !== "open" && kind !== "close") throw new Malformed(`unknown op ${kind}`);
  return await unbatching[kind]();
}

async function sizesDifference(test: BatchedCase, client: Client, expected: unknown, i: number): Promise<string | undefined> {
  const info = await client.serverInfo();
  return valueDifference(`.sizes[${i}]`, expected, batchedTables(test).map((name) => info[name]?.currentSize)); // biome-ignore format: one line
}

/** Compares the numbers of cached steps. After a `close`, they are not compared, because a recorded observer keeps its count while it is closed. */
function cachedDifference({ name, ops, expect }: BatchedCase, observers: readonly DelegatedObserver[], i: number): string | undefined {
  if (Object.hasOwn(BATCHED, name) || ops.slice(0, i + 1).some(([kind]) => kind === "close")) return undefined;
  return valueDifference(`.cached[${i}]`, expect.cached[i], observers.map((observer) => (observer as unknown as { cachedSteps: number }).cachedSteps)); // biome-ignore format: one line
}

/** Samples all items of all tables. The leaves of each item are in the order of a trajectory's fields. */
async function itemsOf(test: BatchedCase, client: Client): Promise<unknown[]> {
  const spec = trajectorySpecOf(test.spec) as { readonly [field: string]: Spec };
  const info = await client.serverInfo();
  const items: unknown[] = [];
  for (const table of batchedTables(test)) {
    const count = info[table]?.currentSize ?? 0;
    if (count === 0) continue;
    for await (const { info, data } of client.sample(table, count, { emitTimesteps: false })) {
      const nest = pack(spec, data) as { readonly [field: string]: unknown };
      const columns = ORDER.flatMap((field) => flatten(spec[field] as Spec, nest[field]) as Column[]);
      items.push({ table, priority: info.priority, columns: columns.map(nestedColumn) });
    }
  }
  return items;
}

/** Converts a row to plain numbers. */
function plain(row: unknown): unknown {
  if (typeof row === "bigint") return Number(row);
  if (typeof row !== "object" || row === null) return row;
  if (ArrayBuffer.isView(row)) return Array.from(row as unknown as ArrayLike<number>, Number);
  if ("data" in row && "shape" in row) return nestedColumn(row as Column);
  if (Array.isArray(row)) return row.map(plain);
  return Object.fromEntries(Object.entries(row).map(([name, part]) => [name, plain(part)]));
}
