/** Reads a Zarr array as a column whose rows are along the first dimension. */
import { isHalf, widenHalves } from "../../../schema/half.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Column } from "../columns/column.ts";
import type { SourceFolder } from "../sources/source.ts";
import type { ArrayMetadata } from "./array-metadata.ts";
import { ChunkStore } from "./chunk-store.ts";
import type { Zarrita } from "./package.ts";

export interface ColumnOptions {
  readonly folder: SourceFolder;
  /** The path of the array in the folder. */
  readonly path: string;
  readonly metadata: ArrayMetadata;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** The maximum number of chunks per episode. In damaged metadata, each element may be a chunk. */
const MAX_CHUNKS = 2 ** 20;
/** The number of chunks that are read concurrently. KEPT_BYTES is the maximum total size of the chunks that are cached for the next rows. */
const CHUNKS_AT_ONCE = 4;
const KEPT_BYTES = 2 ** 25;

/** Returns a Zarr array as a column. @param name the name of the column in messages @throws RldsError CORRUPT if chunks exceed maxBytes */
export async function arrayColumn(zarr: Zarrita, name: string, options: ColumnOptions): Promise<Column> {
  const { metadata, maxBytes, path } = options;
  const { shape, chunks, shards = chunks, dtype, memoryBytes, indexBytes = 0 } = metadata;
  const bytes = Math.max(sizeOf(chunks) * memoryBytes, sizeOf(shape.slice(1)) * memoryBytes, indexBytes);
  if (!(bytes <= maxBytes))
    throw corruptFile({ file: path }, `${name} needs ${bytes} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
  const row = shape.slice(1);
  const size = sizeOf(row);
  const read = await reader(zarr, name, options);
  return new Column({
    path: name,
    leaf: { dtype, shape: row } as StepLeaf,
    rows: shape[0],
    rowBytes: size * memoryBytes,
    chunkRows: shards[0] ?? 1,
    read,
  });
}

interface Piece {
  readonly data: ArrayLike<unknown> | { readonly length: number; get(i: number): unknown };
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

async function reader({ get, open, slice }: Zarrita, name: string, options: ColumnOptions): Promise<Column["read"]> {
  const { folder, path, metadata, maxBytes, signal } = options;
  const { version, shape, chunks, dtype, memoryBytes } = metadata;
  const fail = (cause: unknown) => {
    if (cause instanceof RldsError || signal?.aborted === true) return cause;
    const { message = String(cause), cause: inner } = cause as { readonly message?: string; readonly cause?: { readonly message?: string } };
    return corruptFile({ file: path }, `${name} cannot be read: ${inner?.message ?? message}`, cause);
  };
  const store = new ChunkStore({ folder, prefix: `${path}/`, metadata, maxBytes, ...(signal && { signal }) });
  const array = await (version === 2 ? open.v2(store, { kind: "array", attrs: false }) : open.v3(store, { kind: "array" })).catch((cause) => {
    throw fail(cause);
  });
  keepChunks(array as unknown as Chunked, sizeOf(chunks) * memoryBytes);
  const elements = (data: Piece["data"]): ColumnData => {
    if (dtype === "string") return Array.from({ length: data.length }, (_, i) => String("get" in data ? data.get(i) : data[i]));
    return isHalf(dtype) ? widenHalves(dtype, data as Uint16Array) : (data as Float32Array);
  };
  return async (from, to) => {
    const counts = shape.map((length, i) => Math.ceil((i === 0 ? to - from : length) / (chunks[i] as number)));
    if (!(sizeOf(counts) <= MAX_CHUNKS))
      throw corruptFile({ file: path }, `${name} has ${sizeOf(counts)} chunks in ${to - from} rows, more than the maximum of ${MAX_CHUNKS}`);
    const bytes = (to - from) * sizeOf(shape.slice(1)) * memoryBytes;
    if (shape.length > 0 && !(bytes <= maxBytes))
      throw corruptFile({ file: path }, `the requested rows of ${name} take ${bytes} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
    try {
      const selection = shape.map((_, i) => (i === 0 ? slice(from, to) : null));
      const found = (await get(array, selection, { createQueue })) as Piece | number;
      if (shape.length === 0) return elements([found] as unknown as ArrayLike<unknown>);
      return elements(inOrder(found as Piece));
    } catch (cause) {
      throw fail(cause);
    }
  };
}

/** Returns a queue that runs a few tasks concurrently. If a task fails, the error is thrown only after all started tasks have ended. */
function createQueue() {
  const jobs: (() => Promise<void>)[] = [];
  return {
    add: (job: () => Promise<void>) => void jobs.push(job),
    async onIdle(): Promise<undefined[]> {
      let next = 0;
      const failures: unknown[] = [];
      const run = async () => {
        while (next < jobs.length && failures.length === 0) await (jobs[next++] as () => Promise<void>)().catch((error) => failures.push(error));
      };
      await Promise.all(Array.from({ length: CHUNKS_AT_ONCE }, run));
      if (failures.length > 0) throw failures[0];
      return [];
    },
  };
}

/** Returns the elements of a piece in C order, even if they are stored in Fortran order. */
function inOrder({ data, shape, stride }: Piece): Piece["data"] {
  let step = 1;
  let isOrdered = true;
  for (let i = shape.length - 1; i >= 0; i--) {
    if ((shape[i] as number) > 1 && stride[i] !== step) isOrdered = false;
    step *= shape[i] as number;
  }
  if (isOrdered) return data;
  const from = data as Float32Array;
  const to = "get" in data ? (new Array(step) as unknown[]) : new (from.constructor as Float32ArrayConstructor)(step);
  const place = new Array<number>(shape.length).fill(0);
  for (let i = 0, at = 0; i < step; i++) {
    (to as unknown[])[i] = "get" in data ? (data as { get(i: number): unknown }).get(at) : from[at];
    for (let k = shape.length - 1; k >= 0; k--) {
      at += stride[k] as number;
      place[k] = (place[k] as number) + 1;
      if ((place[k] as number) < (shape[k] as number)) break;
      at -= (stride[k] as number) * (shape[k] as number);
      place[k] = 0;
    }
  }
  return to;
}

interface Chunked {
  getChunk(coordinates: number[], ...rest: unknown[]): Promise<Piece>;
}

/** Caches the chunks that were read last, because episodes share chunks. @param bytes the size of a chunk */
function keepChunks(array: Chunked, bytes: number): void {
  const capacity = Math.floor(KEPT_BYTES / Math.max(bytes, 1024));
  if (capacity === 0) return;
  const kept = new Map<string, Promise<Piece>>();
  const getChunk = array.getChunk.bind(array);
  array.getChunk = (coordinates, ...rest) => {
    const key = coordinates.join();
    const known = kept.get(key);
    if (known !== undefined) return known;
    const piece = getChunk(coordinates, ...rest);
    kept.set(key, piece);
    piece.catch(() => kept.delete(key));
    if (kept.size > capacity) kept.delete(kept.keys().next().value as string);
    return piece;
  };
}
