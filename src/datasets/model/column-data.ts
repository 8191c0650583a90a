/** Defines the type of a leaf's values over several steps. */
import type { AnyArray } from "../../schema/dtype.ts";

/** All elements of a leaf in order of time. Text is a list. */
export type ColumnData = AnyArray | readonly (string | Uint8Array)[];
