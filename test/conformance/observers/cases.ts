/** Runs a case of the observer families. */

import { fifo, Replay, type Spec } from "../../../src/index.ts";
import { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver, ReverbTrajectorySequenceObserver } from "../../../src/tf-agents/index.ts";
import { camel } from "../arguments.ts";
import { isObject, Malformed, numberOf, type Result, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import type { Outcome } from "../outcome.ts";
import { EPISODE, type ObserverDeparture, type Steps, TRAJECTORY } from "./departures.ts";
import { type How, leavesOfItem, leavesOfPadding, leavesOfRecorded, stepOf, trajectorySpecOf } from "./trajectory-form.ts";

const CLASSES = { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver, ReverbTrajectorySequenceObserver } as unknown as {
  readonly [name: string]: new (client: unknown, options: object) => Observer;
};

export interface Observer {
  (step: unknown): Promise<void> | undefined;
  readonly cachedSteps: number;
  open(): void;
  close(): void;
  flush(): Promise<void> | undefined;
  reset(writeCachedSteps?: boolean): Promise<void> | undefined;
  updatePriority(priority: unknown): void;
}

export interface ObserverCase {
  readonly name: string;
  readonly class: string;
  readonly args: { readonly [name: string]: unknown };
  readonly tables?: readonly string[];
  readonly spec: unknown;
  readonly ops: readonly (readonly [kind: string, ...args: unknown[]])[];
  readonly expect: Expected;
}

interface Expected {
  readonly error?: Result;
  readonly items?: readonly { readonly table: string; readonly priority: number; readonly columns: unknown }[];
  readonly errors?: readonly { readonly op: number; readonly type: string }[];
  readonly sizes?: readonly (readonly number[])[];
  readonly cached?: readonly number[];
  readonly dtypes?: unknown;
}

/** An item in comparable form. The leaves are in the order of a trajectory's fields. */
interface Item {
  readonly table: string;
  readonly priority: number;
  readonly leaves: unknown[];
}

const WHOLE = { cross: true };
const KINDS: { readonly [op: string]: { readonly [type: string]: readonly string[] } } = {
  new: { ValueError: ["RangeError"], TypeError: ["TypeError"] },
  step: { ValueError: ["SPEC_MISMATCH", "CLOSED", "RangeError"], RuntimeError: ["NOT_FOUND"] },
  reset: { ValueError: ["TOO_FEW", "RangeError"] },
  flush: { ValueError: ["CLOSED"] },
};

export function isObserverCase(raw: { readonly [key: string]: unknown }): boolean {
  return typeof raw.class === "string" && Object.hasOwn(CLASSES, raw.class);
}

export async function runObserverCase(raw: { readonly [key: string]: unknown }): Promise<Outcome> {
  const test = raw as unknown as ObserverCase;
  const departures = test.class === "ReverbAddEpisodeObserver" ? EPISODE : TRAJECTORY;
  const departure = Object.hasOwn(departures, test.name) ? departures[test.name] : undefined;
  const told = { name: test.name, departs: departure !== undefined, rule: departure?.rule };
  try {
    if (!isObject(test.args) || !Array.isArray(test.ops) || !isObject(test.expect)) throw new Malformed("args, ops and expect must be there");
    const why = await run(test, departure);
    return why === undefined ? { ...told, state: "passed" } : { ...told, state: "failed", why };
  } catch (error) {
    return { ...told, state: "failed", why: whyNotRun(error) };
  }
}

/** Runs a case and returns its first difference. */
async function run(test: ObserverCase, departure: ObserverDeparture | undefined): Promise<string | undefined> {
  const { expect } = test;
  const spec = trajectorySpecOf(test.spec);
  const names = test.tables ?? ["t"];
  const tables = Object.fromEntries(names.map((name) => [name, { maxSize: 1000, sampler: fifo(), maxTimesSampled: 1 }]));
  const replay: Replay<Spec, string> = new Replay<Spec, string>({ spec, tables, maxBytes: 2 ** 28, logger: null });
  try {
    const kinds = departure?.error !== undefined ? [departure.error] : expect.error && KINDS.new?.[String(expect.error.type)];
    let observer: Observer;
    try {
      observer = observerOf(test, replay);
    } catch (error) {
      const kind = kindOf(error);
      return kind !== undefined && kinds?.includes(kind) ? undefined : `constructor: expected ${kinds?.join(" or ") ?? "no error"}, got ${error}`;
    }
    if (kinds !== undefined) return `constructor: expected ${kinds.join(" or ")}, got none`;
    return await play(test, departure, replay, observer, names);
  } finally {
    replay.dispose();
  }
}

async function play(
  test: ObserverCase,
  departure: ObserverDeparture | undefined,
  replay: Replay<Spec, string>,
  observer: Observer,
  names: readonly string[],
): Promise<string | undefined> {
  const { expect, ops } = test;
  for (const [i, op] of ops.entries()) {
    let error: unknown;
    try {
      await act(test, observer, op);
      if (op[0] !== "close") await observer.flush();
    } catch (thrown) {
      if (thrown instanceof Malformed) throw thrown;
      error = thrown;
    }
    const found =
      errorDifference(wantedError(test, departure, i), error) ??
      valueDifference(
        ".sizes",
        departure?.sizes?.[i] ?? expect.sizes?.[i],
        names.map((name) => replay.table(name).size),
      ) ??
      valueDifference(".cached", departure?.cached?.[i] ?? expect.cached?.[i], observer.cachedSteps);
    if (found !== undefined) return `op ${i} ${op[0]}: ${found}`;
  }
  return itemsDifference(test, departure, replay, names);
}

/** Creates the observer of a case. @param client the Replay or client that the observer writes to */
export function observerOf(test: ObserverCase, client: unknown): Observer {
  const made = CLASSES[test.class] as (typeof CLASSES)[string];
  const args = Object.entries(test.args).map(([name, value]) => [camel(name), numberOf(value)]);
  const quiet = test.class === "ReverbAddEpisodeObserver" ? { onWarning: () => {} } : {};
  return new made(client, { ...Object.fromEntries(args), ...quiet });
}

export async function act(test: ObserverCase, observer: Observer, [kind, ...args]: ObserverCase["ops"][number]): Promise<void> {
  switch (kind) {
    case "step":
      return observer(stepOf(test.spec, args[0], (args[1] ?? {}) as How));
    case "reset":
      return observer.reset((args[0] as { write_cached_steps?: boolean } | undefined)?.write_cached_steps);
    case "update_priority":
      return observer.updatePriority(numberOf(args[0]));
    case "flush":
    case "open":
    case "close":
      return observer[kind]();
    default:
      throw new Malformed(`unknown op ${JSON.stringify(kind)}`);
  }
}

function wantedError({ expect, ops }: ObserverCase, departure: ObserverDeparture | undefined, i: number): readonly string[] | undefined {
  const ours = departure?.errors?.[i];
  if (departure?.errors !== undefined) return ours === undefined ? undefined : [ours];
  const recorded = expect.errors?.find((error) => error.op === i);
  return recorded && (KINDS[String(ops[i]?.[0])]?.[recorded.type] ?? ["TypeError", "RangeError"]);
}

function errorDifference(wanted: readonly string[] | undefined, error: unknown): string | undefined {
  if (error === undefined) return wanted === undefined ? undefined : `expected ${wanted.join(" or ")}, got none`;
  const kind = kindOf(error);
  return kind !== undefined && wanted?.includes(kind) ? undefined : `expected ${wanted?.join(" or ") ?? "no error"}, got ${(error as Error)?.stack}`;
}

function itemsDifference(
  test: ObserverCase,
  departure: ObserverDeparture | undefined,
  replay: Replay<Spec, string>,
  names: readonly string[],
): string | undefined {
  const got: Item[] = [];
  let dtypes: string[] | undefined;
  for (const table of names) {
    for (;;) {
      const { count, steps, info } = replay.table(table).sample(1, WHOLE);
      if (count === 0) break;
      const item = leavesOfItem(test.spec, steps);
      dtypes ??= item.dtypes;
      got.push({ table, priority: info.priorities[0] as number, leaves: item.values });
    }
  }
  const found = valueDifference(".items", departure?.items?.map((steps) => madeOf(test, steps)) ?? recorded(test), got);
  // If a departure replaces the items, the dtypes of the spec are expected instead of the recorded ones.
  const wanted = departure?.items === undefined ? test.expect.dtypes : test.spec;
  if (found !== undefined || dtypes === undefined || wanted === undefined) return found;
  return valueDifference(".dtypes", leavesOfRecorded(test.spec, wanted).map(dtypeName), dtypes);
}

function recorded({ spec, expect }: ObserverCase): Item[] {
  return (expect.items ?? []).map(({ table, priority, columns }) => ({ table, priority, leaves: leavesOfRecorded(spec, columns) }));
}

/** Returns an expected item, made from the steps that the case's ops append. */
function madeOf(test: ObserverCase, item: Steps): Item {
  const { steps, priority } = "steps" in item ? item : { steps: item, priority: 1 };
  const each = steps.map((number) => {
    if (number === "P") return leavesOfPadding(test.spec);
    const op = test.ops.find(([kind, step]) => kind === "step" && Math.floor((step as { action: number }).action / 10) === number);
    return leavesOfRecorded(test.spec, op?.[1]);
  });
  return { table: "t", priority, leaves: each[0]?.map((_, leaf) => each.map((step) => step[leaf])) ?? [] };
}

/** Returns the name of the dtype in which values are stored: "uint8" for bool. */
function dtypeName(given: unknown): string {
  const dtype = typeof given === "string" ? given : (given as { dtype: string }).dtype;
  return dtype === "bool" ? "uint8" : dtype;
}
