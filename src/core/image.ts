/** The image module: what saves, restores and checks, in the memory of a core (assembly/image/). */
import bytes from "../../dist/image-bytes.js";
import { internals } from "../index.ts";
import type { A, Fn } from "./abi.ts";
import type { Core } from "./core.ts";

/** Its exports, one line each as in assembly/image.ts. */
export interface ImageExports {
  arena_check: Fn<[]>;
  crc32c: Fn<[crc: A, at: A, length: A]>;
  pool_check: Fn<[pool: A]>;
  pool_free_run: Fn<[pool: A, number: A, count: A]>;
  pool_free_runs: Fn<[pool: A, cursor: A, most: A, out: A], void>;
  pool_index: Fn<[pool: A]>;
  pool_numbers: Fn<[pool: A, out: A], void>;
  pool_record: Fn<[pool: A]>;
  pool_records: Fn<[pool: A, number: A, count: A, at: A, saving: A]>;
  pool_restore: Fn<[pool: A, high: A, episodes: A]>;
  pool_seek: Fn<[pool: A, number: A, held: A]>;
  pool_unindex: Fn<[pool: A], void>;
  stream_check: Fn<[stream: A]>;
  stream_record: Fn<[stream: A, at: A, saving: A]>;
  table_check: Fn<[table: A]>;
  table_order: Fn<[table: A, role: A, cursor: A, most: A, out: A], void>;
  table_records: Fn<[table: A, slot: A, count: A, at: A, saving: A]>;
  table_rejoin: Fn<[table: A, role: A, count: A, from: A, disorder: A]>;
  table_spans: Fn<[table: A, out: A], void>;
}

let compiled: WebAssembly.Module | undefined;
const images = new WeakMap<Core, ImageExports>();

/** The image module of a core; always the same one. */
export function imageOf(core: Core): ImageExports {
  let image = images.get(core);
  if (image === undefined) {
    compiled ??= internals.compile(bytes);
    image = new WebAssembly.Instance(compiled, { env: { memory: core.x.memory } }).exports as unknown as ImageExports;
    images.set(core, image);
  }
  return image;
}
