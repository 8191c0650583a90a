/**
 * Encodes calls as bytes that any host can play: a file of recorded operations, little-endian, with everything at multiples of 8. test/embed/player.mjs plays
 * such files.
 *
 *    0 │ "RPOP"         │ version u32 = 1 │
 *    8 │ operations u32 │ textBytes u32   │
 *   16 │ text, for replay_create │ OPERATION × operations │
 *
 * OPERATION: │ call u8 │ arguments u8 │ addresses u16 │ payloadBytes u32 │ f64 × arguments, after the handle │ payload │
 *   addresses: if bit i is set, argument i is an offset in the payload; -1 is the address 0
 */
import type { Append, Call, End } from "./calls.ts";
import type { Step } from "./values.ts";

/** The numbers of the calls. `reload` takes a snapshot and opens it, `clock` starts the time measurement. */
const NUMBERS = { append: 0, end: 1, item: 2, sample: 3, update: 4, delete: 5, stats: 6, reload: 7, clock: 255 } as const;

/** The numbers of error codes by name, from assembly/embed/refusal.ts and assembly/memory/error.ts. */
export const CODES: { readonly [name: string]: number } = {
  OUT_OF_MEMORY: -1,
  RATE_LIMITED: -2,
  KEYS_EXHAUSTED: -5,
  CORRUPT: -6,
  UNSUPPORTED: -7,
  INVALID: -16,
  CLOSED: -17,
  NOT_FOUND: -18,
  SPEC_MISMATCH: -19,
  INVALID_DATA: -20,
  EMPTY: -21,
  TOO_FEW: -22,
  OUT_OF_TURN: -23,
};

export interface Operation {
  readonly call: keyof typeof NUMBERS;
  readonly args: readonly number[];
  readonly addresses: number;
  readonly payload: Uint8Array;
}

const NOTHING = new Uint8Array(0);
export const CLOCK: Operation = { call: "clock", args: [], addresses: 0, payload: NOTHING };

export function statsOf(table: number): Operation {
  return { call: "stats", args: [table], addresses: 0, payload: NOTHING };
}

/** Returns the operation that takes a snapshot and opens it. @param lines lines that follow the lines in the snapshot */
export function reload(lines: string): Operation {
  return { call: "reload", args: [], addresses: 0, payload: new TextEncoder().encode(lines) };
}

/** Returns the operation for a call. @param packed converts the steps of the call to packed steps */
export function operationOf(call: Exclude<Call, Append | End>): Operation;
export function operationOf(call: Call, packed: (steps: readonly Step[]) => Uint8Array): Operation;
export function operationOf(call: Call, packed: (steps: readonly Step[]) => Uint8Array = () => NOTHING): Operation {
  switch (call.call) {
    case "append": {
      const { writer, steps, ends, finals } = call;
      return append(writer, packed(steps), steps.length, ends?.some((how) => how > 0) ? Uint8Array.from(ends) : NOTHING, finals ? packed(finals) : NOTHING);
    }
    case "end":
      return withRuns("end", [call.writer, call.lane, call.how], [call.final ? packed([call.final]) : NOTHING]);
    case "item":
      return { call: "item", args: [call.writer, call.lane, call.table, call.length, call.priority], addresses: 0, payload: NOTHING };
    case "sample":
      return { call: "sample", args: [call.view, call.n, call.beta], addresses: 0, payload: NOTHING };
    case "update":
      return withRuns("update", [call.table], [bytesOf(call.keys), bytesOf(call.priorities)], [call.keys.length]);
    case "delete":
      return withRuns("delete", [call.table], [bytesOf(call.keys)], [call.keys.length]);
  }
}

export function append(writer: number, steps: Uint8Array, n: number, ends: Uint8Array = NOTHING, finals: Uint8Array = NOTHING): Operation {
  const { args, ...rest } = withRuns("append", [writer], [steps, ends, finals]);
  const [first = 0, at = 0, ...behind] = args;
  // The argument n comes after the address of the steps.
  return { ...rest, args: [first, at, n, ...behind], addresses: 0b11010 };
}

/**
 * Returns an operation whose payload contains `runs`, each at a multiple of 16. Its arguments are `first`, the offset of each run (-1 for an empty run), and
 * `last`.
 */
function withRuns(call: Operation["call"], first: readonly number[], runs: readonly Uint8Array[], last: readonly number[] = []): Operation {
  const { places, bytes } = placed(runs);
  const addresses = runs.reduce((mask, _, i) => mask | (1 << (first.length + i)), 0);
  return { call, args: [...first, ...runs.map((run, i) => (run.length === 0 ? -1 : (places[i] as number))), ...last], addresses, payload: bytes };
}

export function placed(runs: readonly Uint8Array[]): { places: number[]; bytes: Uint8Array } {
  const places: number[] = [];
  let end = 0;
  for (const run of runs) {
    places.push(end);
    end = (end + run.length + 15) & ~15;
  }
  const bytes = new Uint8Array(end);
  for (const [i, run] of runs.entries()) bytes.set(run, places[i] as number);
  return { places, bytes };
}

const bytesOf = (array: Float64Array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Returns the file of a Replay: its text, and the operations on it. */
export function fileOf(text: string, operations: readonly Operation[]): Uint8Array {
  const words = new TextEncoder().encode(text);
  const head = new Uint8Array(16);
  head.set(new TextEncoder().encode("RPOP"));
  const view = new DataView(head.buffer);
  view.setUint32(4, 1, true);
  view.setUint32(8, operations.length, true);
  view.setUint32(12, words.length, true);
  return new Uint8Array(
    Buffer.concat([
      head,
      padded(words),
      ...operations.flatMap(({ call, args, addresses, payload }) => {
        const record = new DataView(new ArrayBuffer(8 + 8 * args.length));
        record.setUint8(0, NUMBERS[call]);
        record.setUint8(1, args.length);
        record.setUint16(2, addresses, true);
        record.setUint32(4, payload.length, true);
        args.forEach((arg, i) => void record.setFloat64(8 + 8 * i, arg, true));
        return [new Uint8Array(record.buffer), padded(payload)];
      }),
    ]),
  );
}

function padded(bytes: Uint8Array): Uint8Array {
  const all = new Uint8Array((bytes.length + 7) & ~7);
  all.set(bytes);
  return all;
}
