/**
 * Defines the state's head, which a reader needs before the first record: in snapshots, and in each segment of a journal. The head consists of tagged values
 * (tags.ts), which can be read without JavaScript. The first byte is the type, and the next four bytes are the length or count, so a reader can skip unknown
 * values.
 *
 *   object { version: number, of the records (assembly/persistence/)
 *            options: object { spec, tables: object by name, maxBytes, storedBytes: object { max, evictFrom: text } if it was passed, seed: text,
 *                     transition: object of texts if it was passed }
 *            layout:  object { rowBytes: number, leaves: array of object { path: text, dtype: text, shape: array, kind: number, offset: number } } }
 *
 * A leaf of the dtype "string" (text) also has maxBytes. Each of its elements is a length (u32), that many bytes of UTF-8, and zeros up to a multiple of 4 that
 * has room for maxBytes (src/schema/text.ts).
 */
import { ReplayError } from "../../base/error.ts";
import type { Layout } from "../../schema/layout.ts";
import { isText } from "../../schema/leaf.ts";
import type { ReplayState, SavedOptions } from "../replay-state.ts";

/** The version of the records. It increases when the format of a record, or the meaning of a number in a record, changes. */
const VERSION = 7;

export interface StateHead {
  readonly version: number;
  readonly options: SavedOptions;
  /** The size of a row, and the offsets of its leaves. They may differ in another version of Reprise. */
  readonly layout: { readonly rowBytes: number; readonly leaves: readonly object[] };
}

export function headOf({ engine, options }: ReplayState): StateHead {
  return {
    version: VERSION,
    // JSON drops undefined fields, so that a restored spec has the same bytes as the original.
    options: JSON.parse(JSON.stringify(options)),
    layout: headLayout(engine.layout),
  };
}

/** Returns the layout of rows in the form that the head stores. */
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

/** Checks the version of a head, and returns the head. @throws ReplayError UNSUPPORTED if the head has another version, CORRUPT if there is no head */
export function checkHead(what: string, head: unknown): StateHead {
  const { version } = (head ?? {}) as Partial<StateHead>;
  if (version === VERSION) return head as StateHead;
  if (typeof version !== "number") throw new ReplayError("CORRUPT", `${what} has no header`);
  throw new ReplayError("UNSUPPORTED", `${what} has state version ${version}, but this version of Reprise reads ${VERSION}`);
}
