/** Defines the type of a leaf's values over several steps. */
import type { AnyArray } from "../../schema/dtype.ts";

/** The elements of a leaf in chronological order, as a typed array of numbers or a list of texts. */
export type ColumnData = AnyArray | readonly (string | Uint8Array)[];
