/**
 * Defines the history of a buffer as sections of a log. The history contains the calls that fill the buffer, not the buffer's memory, so a buffer with another
 * capacity can read it.
 *
 * The number of a section is the number of its episode in the file. The kinds are numbered in base/kinds.ts.
 *   FORM        │ tagged: family, numSteps, spec                    │ before any step
 *   STEP        │ RECORD (assembly/persistence/step.ts), tagged objects  │ a step of the episode
 *   SINGLE      │ the same                                          │ a step that is also an item of one step
 *   ITEM        │ length u32, 0 u32, priority f64                   │ an item of the last `length` steps
 *   EPISODE     │ priority f64                                      │ the end of the episode, which is an item of all its steps
 *   EPISODE_END │                                                   │ the end of the episode without an item
 *   STATE       │ tagged                                            │ random state, largest priority, …
 *   RANDOM      │ 32 bytes                                          │ only the random state
 *   CLEAR       │                                                   │ discards everything before it
 */
import { dataView } from "../../base/bytes.ts";
import { CLEAR, EPISODE, EPISODE_END, FORM, ITEM, RANDOM, SINGLE, STATE, STEP } from "../../base/kinds.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import { decodeTagged, encodeTagged } from "../../storage/index.ts";
import type { WholeSpec } from "../rows/step-spec.ts";
import { damaged } from "./step-bytes.ts";

export type Family = "transitions" | "episodes";

/** The form of the steps in a file. */
export interface HistorySchema {
  readonly family: Family;
  /** The maximum number of steps per item; 0 for whole episodes. */
  readonly numSteps: number;
  readonly spec: WholeSpec;
}

/** The state of a saved buffer in addition to its items. */
export interface HistoryState {
  /** The number of items or episodes. */
  readonly count: number;
  readonly random: Uint8Array;
  /** The priority of new items in a prioritized buffer: the largest priority that an update ever set. Absent for other buffers. */
  readonly max?: number;
  /** The ranks of the items that wait for their errors, 0 for the oldest item; -1 for evicted items. */
  readonly waiting?: Float64Array | null;
  /** The slots of the items, oldest first, followed by the free slots. */
  readonly slots?: Uint32Array;
  /** The number of slots ever used. */
  readonly high?: number;
}

/** Writes a section of a history. */
export type Write = (kind: number, id: number, payload: Uint8Array) => void;

/** Receives the sections of a history, in order. */
export interface HistoryLoader {
  schema(schema: HistorySchema): void;
  /** @param isItem whether the step by itself is also an item */
  step(episode: number, payload: Uint8Array, isItem: boolean): void;
  item(episode: number, length: number, priority: number): void;
  /** @param priority undefined if the episode is not an item */
  end(episode: number, priority: number | undefined): void;
  state(state: HistoryState): void;
  random(bytes: Uint8Array): void;
  clear(): void;
}

export const EMPTY: Uint8Array = new Uint8Array(0);

/** Passes a section to a loader. @throws ReplayError CORRUPT if the section is unknown */
export function deliver(loader: HistoryLoader, kind: number, id: number, payload: Uint8Array): void {
  const view = dataView(payload);
  const sized = (bytes: number) => {
    if (payload.length !== bytes) throw damaged(`a section of kind ${kind} has ${payload.length} bytes instead of ${bytes}`);
  };
  if (kind === FORM) loader.schema(parseSchema(payload));
  else if (kind === STEP || kind === SINGLE) loader.step(id, payload, kind === SINGLE);
  else if (kind === ITEM) {
    sized(16);
    loader.item(id, view.getUint32(0, true), view.getFloat64(8, true));
  } else if (kind === EPISODE) {
    sized(8);
    loader.end(id, view.getFloat64(0, true));
  } else if (kind === EPISODE_END) loader.end(id, undefined);
  else if (kind === STATE) loader.state(stateOf(decodeTagged(payload)));
  else if (kind === RANDOM) {
    sized(32);
    loader.random(payload);
  } else if (kind === CLEAR) loader.clear();
  else throw damaged(`it has a section of the unknown kind ${kind}`);
}

/** Writes a buffer that has no steps yet. */
export function writeNothing(write: Write): void {
  write(CLEAR, 0, EMPTY);
  write(STATE, 0, stateBytes({ count: 0, random: new Uint8Array(32) }));
}

export function encodeSchema(schema: HistorySchema): Uint8Array {
  return encodeTagged(schema, "spec");
}

export function stateBytes(state: HistoryState): Uint8Array {
  return encodeTagged(state, "state");
}

export function itemBytes(length: number, priority: number): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, length, true);
  view.setFloat64(8, priority, true);
  return bytes;
}

export function priorityBytes(priority: number): Uint8Array {
  return new Uint8Array(Float64Array.of(priority).buffer);
}

function parseSchema(payload: Uint8Array): HistorySchema {
  let schema: Partial<HistorySchema>;
  try {
    schema = decodeTagged(payload) as Partial<HistorySchema>;
  } catch {
    throw damaged("the spec is invalid");
  }
  const { family, numSteps, spec } = schema ?? {};
  const max = family === "transitions" ? MAX_LENGTH : 0;
  const right = (family === "transitions" || family === "episodes") && Number.isSafeInteger(numSteps) && typeof spec?.inferred === "boolean";
  if (!(right && (numSteps as number) >= Math.min(1, max) && (numSteps as number) <= max)) throw damaged("the spec is incomplete");
  return schema as HistorySchema;
}

function stateOf(value: unknown): HistoryState {
  const state = value as HistoryState;
  const { count, random, max = 1, waiting = null, slots, high = 0 } = state ?? {};
  const right =
    Number.isSafeInteger(count) &&
    random instanceof Uint8Array &&
    random.length === 32 &&
    typeof max === "number" &&
    Number.isSafeInteger(high) &&
    (waiting === null || waiting instanceof Float64Array) &&
    (slots === undefined || slots instanceof Uint32Array);
  if (!right) throw damaged("the state is incomplete");
  return state;
}
