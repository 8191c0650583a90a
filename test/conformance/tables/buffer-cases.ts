/** Runs a ReverbReplayBuffer case: an observer writes, and the buffer reads the table. */

import { type Column, Replay, type Spec } from "../../../src/index.ts";
import { ReverbAddEpisodeObserver, ReverbAddTrajectoryObserver, ReverbReplayBuffer } from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { double } from "../buffers/values.ts";
import { isObject, Malformed, type Result, readTables, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import { nestedColumn } from "../nested.ts";
import { stepOf, trajectorySpecOf } from "../observers/trajectory-form.ts";
import type { Outcome } from "../outcome.ts";
import { tableOptions } from "./options.ts";

type Raw = { readonly [key: string]: unknown };
type Observer = (step: unknown) => unknown;
type Element = readonly [{ readonly action: Column }, { readonly [name: string]: Column }];

export function runReverbBufferCase(raw: Raw): Outcome {
  const name = String(raw.name);
  try {
    const why = new ReverbWorld(raw).difference();
    return why === undefined ? { name, state: "passed" } : { name, state: "failed", why };
  } catch (error) {
    return { name, state: "failed", why: whyNotRun(error) };
  }
}

class ReverbWorld {
  readonly #raw: Raw;
  readonly #spec: Spec;
  readonly #replay: Replay<Spec, string>;
  #observer: Observer | undefined;
  #buffer: ReverbReplayBuffer | undefined;

  constructor(raw: Raw) {
    this.#raw = raw;
    this.#spec = trajectorySpecOf(raw.spec);
    const tables = Object.fromEntries(readTables(raw.tables).map((table) => [table.name, tableOptions(table)]));
    this.#replay = new Replay<Spec, string>({ spec: this.#spec, tables, seed: 3, maxBytes: 2 ** 28, logger: null });
  }

  /** Runs the case and returns its first difference. */
  difference(): string | undefined {
    const { ops, expect } = this.#raw;
    if (!Array.isArray(ops) || !isObject(expect) || !Array.isArray(expect.results)) throw new Malformed("ops and expect.results must be arrays");
    for (const [i, op] of ops.entries()) {
      const expected = expect.results[i] as Result | undefined;
      if (!Array.isArray(op) || !isObject(expected)) throw new Malformed(`op ${i} must be an array, with a result`);
      const found = this.#one(op as [string, unknown], expected);
      if (found !== undefined) return `op ${i} ${JSON.stringify(op).slice(0, 200)}: ${found}`;
    }
    return undefined;
  }

  #one([kind, args]: readonly [string, unknown], expected: Result): string | undefined {
    let result: Result;
    try {
      result = this.#answer(kind, args);
    } catch (error) {
      if (error instanceof Malformed) throw error;
      return errorDifference(expected.error, error);
    }
    const broken = result.error === undefined ? undefined : errorDifference(expected.error, result.error);
    if (result.error === undefined && expected.error !== undefined) return `expected ${JSON.stringify(expected.error)}, got ${JSON.stringify(result)}`;
    const isPass = isObject(args) && isObject(args.args) && args.args.single_deterministic_pass === true;
    const [want, have] = [expected, result].map((one) => ({ ...one, error: undefined }));
    return (
      broken ??
      valueDifference("", kind === "dataset" && !isPass ? unordered(want as Result) : want, kind === "dataset" && !isPass ? unordered(have as Result) : have)
    );
  }

  #answer(kind: string, args: unknown): Result {
    switch (kind) {
      case "observer": {
        const { class: name, ...rest } = args as { class: string };
        const Class = name === "ReverbAddEpisodeObserver" ? ReverbAddEpisodeObserver : ReverbAddTrajectoryObserver;
        this.#observer = new Class(this.#replay as never, ourArguments(rest) as never) as unknown as Observer;
        return {};
      }
      case "buffer": {
        const { no_server, ...rest } = args as { no_server?: boolean };
        const client = no_server === true ? {} : { client: this.#replay };
        this.#buffer = new ReverbReplayBuffer(this.#spec, { ...client, ...ourArguments(rest) } as never);
        return { capacity: this.#buffer.capacity };
      }
      case "steps":
        for (const step of args as unknown[]) this.#observer?.(stepOf(this.#raw.spec, step, {}));
        return {};
      case "dataset":
        return this.#dataset(args as { args: object; take: number });
    }
    const buffer = this.#made();
    switch (kind) {
      case "num_frames":
        return { value: buffer.numFrames() };
      case "capacity":
        return { value: buffer.capacity };
      case "clear":
        buffer.clear();
        return {};
      case "add_batch":
        return buffer.addBatch();
      case "get_next":
        return buffer.getNext();
      case "gather_all":
        return buffer.gatherAll();
      default:
        throw new Malformed(`unknown op ${JSON.stringify(kind)}`);
    }
  }

  #made(): ReverbReplayBuffer {
    if (this.#buffer === undefined) throw new Malformed("a buffer must be made first");
    return this.#buffer;
  }

  #dataset({ args, take }: { readonly args: object; readonly take: number }): Result {
    const { sequencePreprocessFn, ...options } = ourArguments(args);
    const fn = sequencePreprocessFn === undefined ? undefined : (items: unknown) => double(this.#spec, items);
    const found = this.#made().asDataset({ ...options, sequencePreprocessFn: fn } as never);
    const elements: unknown[] = [];
    try {
      for (const element of found) {
        if (elements.length === take) return { elements };
        elements.push(shown(element as unknown as Element));
      }
      return { elements, ends: true };
    } catch (error) {
      if (kindOf(error) === undefined) throw error;
      return { elements, error };
    }
  }
}

/** Converts an element of our dataset to the format of the cases, which contains only the action, the sample info and the shape of the keys. */
function shown([{ action }, info]: Element): unknown {
  const { ids, probabilities, tableSizes, priorities, timesSampled } = info as { readonly [name: string]: Column };
  const plain = (column: Column | undefined) => column && nestedColumn(column);
  return {
    action: plain(action),
    info: { probability: plain(probabilities), table_size: plain(tableSizes), priority: plain(priorities), times_sampled: plain(timesSampled) },
    key_shape: ids?.shape,
  };
}

/** Replaces the elements of random draws with a sorted list of their actions, because their order does not matter. */
function unordered(result: Result): Result {
  const actions = (result.elements as readonly { readonly action: unknown }[] | undefined)?.map(({ action }) => JSON.stringify(action));
  return { ...result, elements: actions?.sort() };
}

/** Returns a difference unless our error corresponds to the expected one according to POLICY.md. */
function errorDifference(expected: unknown, error: unknown): string | undefined {
  const kind = kindOf(error) ?? "";
  if (!isObject(expected)) return `expected no error, got ${(error as Error)?.stack ?? error}`;
  const kinds = KINDS[String(expected.type)] ?? ["RangeError"];
  return kinds.includes(kind) ? undefined : `expected ${kinds.join(" or ")}, got ${error}`;
}

const KINDS: { readonly [type: string]: readonly string[] } = {
  NotImplementedError: ["UNSUPPORTED"],
  KeyError: ["NOT_FOUND"],
  TypeError: ["TypeError"],
  // Reverb raises this error if an item's shape differs from the declared shape.
  InvalidArgumentError: ["SPEC_MISMATCH", "INVALID_DATA"],
};
