/** Summarizes a dataset: for each column of its steps the dtype, the shape, and the checksum of its bytes over all steps. */

import { crc32 } from "../../src/datasets/formats/npz/zip.ts";
import type { ReadEpisode } from "../../src/datasets/formats/reader.ts";
import { leavesOf } from "../../src/datasets/model/leaves.ts";
import type { ColumnData } from "../../src/datasets/model/step-columns.ts";

export interface Told {
  readonly dtype: string;
  /** The shape of a value. */
  readonly shape: readonly number[];
  readonly rows: number;
  readonly crc32: number;
}

/** Returns the bytes of a column. Texts are separated by newlines. */
export function bytesOf(data: readonly ColumnData[]): Uint8Array {
  const [first] = data;
  if (Array.isArray(first)) return new TextEncoder().encode(data.flatMap((part) => part as readonly string[]).join("\n"));
  const parts = data.map((part) => part as Uint8Array).map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Returns the columns of these episodes by path, with `rows` of each episode, or all by default. */
export function columnsTold(episodes: readonly ReadEpisode[], rows = (episode: ReadEpisode) => episode.steps.length): { [path: string]: Told } {
  const [first] = episodes;
  if (first === undefined) return {};
  const told = leavesOf(first.steps.spec).map(({ path, leaf, size }, i): [string, Told] => {
    const parts = episodes.map((episode) => episode.steps.data[i]?.slice(0, size * rows(episode)) as ColumnData);
    return [path, { dtype: leaf.dtype, shape: leaf.shape, rows: parts.reduce((sum, part) => sum + part.length, 0) / size, crc32: crc32(bytesOf(parts)) }];
  });
  return Object.fromEntries(told);
}

/** Reads all items from a reader, then closes it. */
export async function allOf<T>(opening: Promise<AsyncIterable<T> & { close(): Promise<void> }>): Promise<T[]> {
  const reader = await opening;
  const list = await all(reader);
  await reader.close();
  return list;
}

export async function all<T>(each: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of each) list.push(one);
  return list;
}
