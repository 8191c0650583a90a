/** Limits that several parts of the package name. The core's own ones stand in assembly/tables/slots.ts and assembly/tables/table.ts. */

/** Steps in an item, a window or an episode; items or elements of a batch. */
export const MAX_LENGTH = 2 ** 24 - 1;

/** Items of a table, and transitions of a buffer. */
export const MAX_ITEMS = 2 ** 26 - 1;

/** Leaves of a step, and how deep they nest. */
export const MAX_LEAVES = 4096;
export const MAX_DEPTH = 64;

/** Of a journal's files, about, where nothing else is said. */
export const SEGMENT_BYTES = 1 << 24;

/** setTimeout counts in 31 bits; longer timeouts would fire at once. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
