/** Limits that several parts of the package name. The core's own ones stand in assembly/tables/slots.ts and assembly/tables/table.ts. */

/** Steps in an item, a window or an episode; items or elements of a batch. */
export const MAX_LENGTH = 2 ** 24 - 1;

/** Items of a table, and transitions of a buffer. */
export const MAX_ITEMS = 2 ** 26 - 1;

/** Leaves of a step, how deep they nest, and bytes of a leaf's value. */
export const MAX_LEAVES = 4096;
export const MAX_NEST_DEPTH = 64;
export const MAX_LEAF_BYTES = 0x3fffffff;

/** Bytes of a frame that is packed: a smaller one would gain less than its entry takes, and an entry's head tells 24 bits (assembly/rows/packs.ts). */
export const MIN_PACKED_BYTES = 256;
export const MAX_PACKED_BYTES = 2 ** 24 - 1;

/** How deep values that are saved as they are nest: their reader calls itself. */
export const MAX_VALUE_DEPTH = 128;

/** Bytes of a Replay: 4 GiB less a page of WebAssembly, so that byte offsets stay below 2^32. */
export const MAX_REPLAY_BYTES = 0xffff0000;

/** Bytes of a section of a file, and of a buffer that waits for the disk: a disk that stays full must not take all memory. */
export const MAX_SECTION_BYTES = 2 ** 30;

/** Of a journal's files, about, where nothing else is said. */
export const SEGMENT_BYTES = 1 << 24;

/** setTimeout counts in 31 bits; longer timeouts would fire at once. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
