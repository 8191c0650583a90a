/** The memory of a new batch. */
import { mustBe } from "../base/error.ts";

/** glibc takes larger memory from the system, page by page, and gives it back at once; until it has seen a larger one come back. */
const PAGED = 1 << 17;
/** The largest that it learns from is 32 MiB, with what stands around it. */
const LESSON = (1 << 25) - (1 << 14);

let hasLearned = (globalThis as { readonly process?: { readonly release?: { readonly name?: string } } }).process?.release?.name !== "node";

/** Offsets in a batch are u32. */
const MAX_BYTES = 2 ** 32;

/** @throws ReplayError OUT_OF_MEMORY */
export function newSlab(bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes >= PAGED && !hasLearned) teach();
  try {
    if (bytes < MAX_BYTES) return new Uint8Array(new ArrayBuffer(bytes));
  } catch {}
  const remedy = "ask for fewer items, or fewer or shorter windows of them";
  throw mustBe("OUT_OF_MEMORY", "the bytes of a batch", `as many as this runtime has room for in one array, and fewer than 4 GiB (${remedy})`, bytes);
}

/**
 * Node's memory comes from glibc on most systems. A large array that is let go of teaches it to keep what comes back: new batches are then made up to three times as fast.
 * The pages of that array are never touched.
 */
function teach(): void {
  hasLearned = true;
  try {
    new ArrayBuffer(LESSON);
  } catch {
    // There is room for less: then so there is for the batch, or not.
  }
}
