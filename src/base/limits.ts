/** Limits that several parts of the package share. The core's own limits are in assembly/tables/slots.ts and assembly/tables/table.ts. */

/** The maximum number of steps in an item, a window or an episode, and the maximum number of items or elements of a batch. */
export const MAX_LENGTH = 2 ** 24 - 1;

/** The maximum number of items of a table, and transitions of a buffer. */
export const MAX_ITEMS = 2 ** 26 - 1;

/** The maximum number of leaves of a step, the maximum nesting of leaves, and the maximum number of bytes of one value of a leaf. */
export const MAX_LEAVES = 4096;
export const MAX_NEST_DEPTH = 64;
export const MAX_LEAF_BYTES = 0x3fffffff;

/**
 * The minimum and maximum number of bytes of a packed frame. Packing a smaller frame would save less than the entry costs. The head of an entry has 24 bits for
 * the size (assembly/rows/packs.ts).
 */
export const MIN_PACKED_BYTES = 256;
export const MAX_PACKED_BYTES = 2 ** 24 - 1;

/** The maximum nesting of encoded values (storage/encode.ts). Their reader is recursive. */
export const MAX_VALUE_DEPTH = 128;

/** The maximum number of bytes of a Replay: 4 GiB minus one page of WebAssembly, so that byte offsets stay below 2^32. */
export const MAX_REPLAY_BYTES = 0xffff0000;

/**
 * The maximum number of bytes of a section of a file, and of a buffer that waits for the disk. Without a limit, the buffer would grow until memory runs out if
 * the disk is full.
 */
export const MAX_SECTION_BYTES = 2 ** 30;

/** The approximate default size of a journal's files, in bytes. */
export const SEGMENT_BYTES = 1 << 24;

/** The longest timeout. setTimeout counts in 31 bits, so longer timeouts would fire immediately. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
