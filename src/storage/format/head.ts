/**
 * The state's head, which a reader needs before the first record: in snapshots, and in each segment of a journal. It consists of tagged values (tags.ts), which
 * can be read without JavaScript: one byte holds the type and the next four the length or count, so that a reader can skip unknown values.
 *
 *   object { version: number, of the records (assembly/persistence/)
 *            options: object { spec, tables: object by name, maxBytes, storedBytes: object { max, evictFrom: text } where it was given, seed: text,
 *                     transition: object of texts where it was given }
 *            layout:  object { rowBytes: number, leaves: array of object { path: text, dtype: text, shape: array, kind: number, offset: number } } }
 *
 * A leaf of the dtype "string", which is text, has maxBytes as well. Each of its elements is a length (u32), as many bytes of UTF-8, and zeros up to a multiple of 4
 * that has room for maxBytes (src/schema/text.ts).
 */
import { ReplayError } from "../../base/error.ts";
import type { Layout } from "../../schema/layout.ts";
import { isText } from "../../schema/leaf.ts";
import type { ReplayState, SavedOptions } from "../replay-state.ts";

/** Raised when a record, or what a number in it means, changes. */
const VERSION = 7;

export interface StateHead {
  readonly version: number;
  readonly options: SavedOptions;
  /** Where a row has what: another version may lay it out differently. */
  readonly layout: { readonly rowBytes: number; readonly leaves: readonly object[] };
}

export function headOf({ engine, options }: ReplayState): StateHead {
  return {
    version: VERSION,
    // Without what was left out: a spec that was read has the bytes of the one that was written.
    options: JSON.parse(JSON.stringify(options)),
    layout: headLayout(engine.layout),
  };
}

/** Where a row has what, as a head says it. */
export function headLayout({ rowBytes, leaves }: Layout): StateHead["layout"] {
  return {
    rowBytes,
    leaves: leaves.map(({ path, leaf, shape, kind, offset }) => ({
      path,
      dtype: leaf.dtype,
      shape,
      kind,
      offset,
      ...(isText(leaf) && { maxBytes: leaf.maxBytes }),
    })),
  };
}

/** @throws ReplayError UNSUPPORTED for the head of another version, or CORRUPT for none */
export function checkHead(what: string, head: unknown): StateHead {
  const { version } = (head ?? {}) as Partial<StateHead>;
  if (version === VERSION) return head as StateHead;
  if (typeof version !== "number") throw new ReplayError("CORRUPT", `${what} has no head`);
  throw new ReplayError("UNSUPPORTED", `${what} has state of version ${version}: another version wrote it, this one reads ${VERSION}`);
}
