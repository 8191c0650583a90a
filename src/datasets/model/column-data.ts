/** The values of a leaf over steps. */
import type { AnyArray } from "../../schema/dtype.ts";

/** Of a leaf: all its elements in order of time; of text a list. */
export type ColumnData = AnyArray | readonly (string | Uint8Array)[];
