/**
 * Loads the package that the cases measure: `dist` of this checkout, or the folder in REPRISE_DIST, possibly of an older version. The functions below hide API
 * differences between versions.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.env.REPRISE_DIST;
export const dist = folder === undefined ? new URL("../dist/", import.meta.url) : pathToFileURL(`${resolve(folder)}/`);

/** Returns the exports of an entry of the package by file name. */
export const entry = (name) => import(new URL(`${name}.js`, dist));

const main = await entry("index");
export const { bool, f32, fifo, i32, minHeap, mixture, packed, prioritized, Replay, shared, u8, uniform } = main;

const isMethod = "snapshot" in Replay.prototype;
const old = isMethod ? undefined : await entry("snapshot");

/** Returns the chunks of a snapshot. */
export const snapshotOf = (replay) => (isMethod ? replay.snapshot() : old.snapshot(replay));
/** Returns a Replay restored from these chunks, or a promise of it. */
export const restored = (chunks) => (isMethod ? Replay.restore(chunks) : old.restore(chunks));

/** Returns a Replay with a journal. */
export async function opened(options) {
  if (!isMethod) await entry("storage");
  return Replay.open(options);
}

/** Returns the result of `make`, and a function that returns the bytes in use of its core. */
export function withBytes(make) {
  const { internals } = main;
  let bytes;
  if (internals !== undefined) {
    const { of } = internals;
    internals.of = (replay) => {
      bytes = () => replay.stats().bytes.used;
      return of(replay);
    };
    const made = make();
    internals.of = of;
    return { made, bytes };
  }
  const { Instance } = WebAssembly;
  WebAssembly.Instance = new Proxy(Instance, {
    construct(target, args) {
      const instance = new target(...args);
      const { arena_used } = instance.exports;
      bytes = arena_used ?? bytes;
      return instance;
    },
  });
  const made = make();
  WebAssembly.Instance = Instance;
  return { made, bytes };
}
