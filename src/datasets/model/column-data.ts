/** Defines the type of a leaf's values over several steps. */
import type { AnyArray } from "../../schema/dtype.ts";

/** The elements of a leaf in order of time. Text is in a list, numbers are in a typed array. */
export type ColumnData = AnyArray | readonly (string | Uint8Array)[];
