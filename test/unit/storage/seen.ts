/** Provides the visible state of a Replay as bytes, so that tests can compare two Replays. */

import { END, FREE, SLOTS } from "../../../src/base/kinds.ts";
import type { OpenOptions, Replay } from "../../../src/index.ts";
import { engineOf, stateOf } from "../../../src/replay/replay.ts";
import { bytesOf } from "../../support/refused.ts";
import type { AnyReplay } from "../../support/scenes.ts";

/**
 * Returns a snapshot of all visible state, without the reuse order of freed rows and the count of sections.
 * @param counts false to omit the draw counts of items, which a kill may lose
 */
export function seen(replay: AnyReplay, counts = true): Buffer {
  const bytes = Buffer.from(bytesOf(replay));
  const tables = Object.values(replay.options.tables) as readonly { readonly maxTimesSampled?: number }[];
  const parts: Buffer[] = [];
  for (let at = 8; at < bytes.length; ) {
    const length = 16 + bytes.readUInt32LE(at + 8);
    const kind = bytes.readUInt32LE(at);
    const isLimited = Number(tables[bytes.readUInt32LE(at + 4)]?.maxTimesSampled) < 2 ** 32;
    if (!counts && kind === SLOTS && !isLimited) forgetCounts(bytes.subarray(at, at + length));
    if (kind !== FREE && kind !== END) parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return Buffer.concat(parts);
}

/** Zeroes the draw counts of live items in a section of SLOT records (assembly/persistence/slot.ts), and the checksum of the section. */
function forgetCounts(slots: Buffer): void {
  slots.writeUInt32LE(0, 12);
  const bytes = (slots.length - 20) / slots.readUInt32LE(16);
  for (let at = 20; at < slots.length; at += bytes) {
    // A negative priority marks a waiting item.
    const priority = slots.readDoubleLE(at + 24);
    if (priority < Number.POSITIVE_INFINITY && (slots.readUInt8(at + 31) & 128) === 0) slots.writeUInt32LE(0, at + 16);
  }
}

/** Returns the next 10,000 draws of every table: keys, probabilities and steps. Draws from some tables use items up. */
export function draws(replay: AnyReplay): Buffer {
  const leaf = "x" in (replay.options.spec as object) ? "x" : "r";
  const parts = Object.values(replay.tables).flatMap((table) =>
    [100, 4900, 5000].flatMap((n) => {
      const { info, steps } = table.sample(n, { columns: { v: { leaf, at: 0 } } }) as { info: object; steps: { v: { data: Int32Array } } };
      return [...(Object.values(info) as Uint8Array[]), steps.v.data].map((array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    }),
  );
  return Buffer.concat(parts);
}

/** Returns the options for opening a Replay like the given one. */
export function optionsOf(replay: AnyReplay): Pick<OpenOptions, "spec" | "tables" | "seed"> {
  const { spec, tables, seed } = replay.options;
  return { spec, tables, seed: BigInt(seed) };
}

/** Creates writers in a Replay that equal the writers of another one. */
export function writersOf(from: AnyReplay, to: AnyReplay): void {
  const engine = engineOf(from as unknown as Replay);
  const other = engineOf(to as unknown as Replay);
  for (const { id, columns } of [...engine.columnLayouts.chunks.values()].flat()) other.columnLayouts.put(id, JSON.parse(columns));
  for (const writer of from.writers) stateOf(to as unknown as Replay).adopt(writer.options);
  other.changed();
}
