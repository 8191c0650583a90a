/** Tests a last episode whose end is not marked by any row: all formats with rows of transitions must follow the same rule. */
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { openRlds, type RldsReader } from "../../../../src/datasets/rlds/index.ts";
import { all } from "../../../support/columns.ts";
import { h5File } from "./hdf5/h5-file.ts";
import { storedArchive } from "./npz/npz-archive.ts";

const ROWS = 5;
/** The flags of five rows, of which the third ends an episode. Below: the flags of five rows, of which none ends an episode. */
const END = [0, 0, 1, 0, 0];
const NONE = [0, 0, 0, 0, 0];

interface Flags {
  readonly [name: string]: readonly number[];
}

const numbers = Array.from({ length: ROWS }, (_, i) => i);
const rowsOf = (flags: Flags) =>
  numbers.map((i) => ({ observation: i, action: i, reward: 1, ...Object.fromEntries(Object.entries(flags).map(([name, column]) => [name, column[i] === 1])) }));
const arraysOf = (flags: Flags) => ({
  observations: [Float32Array.from(numbers), [ROWS, 1]] as const,
  actions: [Float32Array.from(numbers), [ROWS, 1]] as const,
  rewards: [new Float32Array(ROWS).fill(1), [ROWS]] as const,
  ...Object.fromEntries(Object.entries(flags).map(([name, column]) => [name, [Uint8Array.from(column), [ROWS]] as const])),
});

const FORMATS: { readonly [format: string]: (flags: Flags) => Parameters<typeof openRlds>[0] | Promise<Parameters<typeof openRlds>[0]> } = {
  "rows.jsonl": (flags) =>
    new Map([
      [
        "rows.jsonl",
        text(
          rowsOf(flags)
            .map((row) => JSON.stringify(row))
            .join("\n"),
        ),
      ],
    ]),
  // Readers do not search folders for JSON files, so this one is a Blob.
  "rows.json": (flags) => new Blob([JSON.stringify(rowsOf(flags))]),
  "rows.csv": (flags) => {
    const rows = rowsOf(flags);
    return new Map([["rows.csv", text([Object.keys(rows[0] as object), ...rows.map(Object.values)].join("\n"))]]);
  },
  "rows.parquet": (flags) => {
    const rows: readonly { readonly [name: string]: unknown }[] = rowsOf(flags);
    const columnData = Object.keys(rows[0] as object).map((name) => ({ name, data: rows.map((row) => row[name]) }));
    return new Map([["rows.parquet", new Uint8Array(parquetWriteBuffer({ columnData: columnData as never }))]]);
  },
  "rows.npz": (flags) => new Map([["rows.npz", storedArchive(arraysOf(flags))]]),
  "rows.hdf5": async (flags) => new Map([["rows.hdf5", await h5File(arraysOf(flags))]]),
};

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

/** Returns [isLast, isTerminal] of each episode's last step. */
async function endsOf(from: Parameters<typeof openRlds>[0]): Promise<readonly (readonly unknown[])[]> {
  const reader = (await openRlds(from)) as RldsReader;
  const ends = (await all(reader)).map(({ steps }) => {
    const last = [...(steps as Iterable<{ is_last: boolean; is_terminal: boolean }>)].at(-1);
    return [last?.is_last, last?.is_terminal];
  });
  await reader.close();
  return ends;
}

const TERMINATED = [true, true];
const TRUNCATED = [true, false];
const OPEN = [false, false];

describe.each(Object.entries(FORMATS))("%s", (name, fileOf) => {
  it("with only terminals, the end of the data truncates the last episode", async () => {
    expect(await endsOf(await fileOf({ terminals: END }))).toEqual([TERMINATED, TRUNCATED]);
  });

  it("with terminals and timeouts, the last episode has no end", async () => {
    expect(await endsOf(await fileOf({ terminals: END, timeouts: NONE }))).toEqual([TERMINATED, OPEN]);
  });

  it.skipIf(name === "rows.hdf5")("with dones, the last episode has no end", async () => {
    expect(await endsOf(await fileOf({ dones: END }))).toEqual([TERMINATED, OPEN]);
  });
});
