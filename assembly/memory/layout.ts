/**
 * Defines the memory map. The whole state of the core is in linear memory: there is no wasm global and no host object.
 *
 *   0x0000 ┌──────────────┐
 *          │ HEADER       │ 1 KiB: magic, error cell, arena; always zeros from 0x0200 on
 *   0x0400 ├──────────────┤
 *          │ CHECKSUM     │ 8 KiB: the tables of CRC-32C, filled on first use
 *   0x2400 ├──────────────┤
 *          │ FOLDED       │ a stretch of a message while the checksum folds it, with the preceding bytes, and zeros after it
 *   0x4800 ├──────────────┤
 *          │ REST         │ the rest after everything is folded
 *   0x5000 ├──────────────┤ the end of static memory (memoryBase in asconfig.json)
 *          │ granules     │ pools, streams, tables, draws; without an arena, sections that a host reads or writes
 *   top    └──────────────┘
 *
 * HEADER, 128 bytes:
 *    0 │ magic u32        │ abiVersion u32    │
 *    8 │ errorCode i32    │ errorArgument i32 │
 *   16 │ errorValue f64                       │
 *   24 │ top u32          │ limit u32         │  granules
 *   32 │ free u32         │ tracking u32      │  granules · 1: changes are noted, 2: freed rows also wait to be written (rows/changes.ts)
 *   40 │ changes u32      │ near u32          │  noted so far · a value without meaning, which reads store to load memory into the cache
 *   48 │ runs u32 × 20                        │  first free run of 2^k … 2^(k+1) - 1 granules
 */
@unmanaged
export class Header {
  magic: u32;
  abiVersion: u32;
  errorCode: i32;
  errorArgument: i32;
  errorValue: f64;
  top: u32;
  limit: u32;
  free: u32;
  tracking: u32;
  changes: u32;
  prefetched: u32;
}
if (offsetof<Header>() != 48) ERROR("HEADER: the free runs follow at byte 48");

/** The address of the heads of the lists of free runs, one u32 per size class. */
export const RUNS_AT: usize = 48;
/** The number of classes of free runs, one per power of two: 4 GiB are 2^20 granules. */
export const RUN_CLASSES: u32 = 20;

/** The address of 512 zero bytes, which are never written and from which padding is read. */
export const ZEROS_AT: usize = 512;

/** The address of the tables of CRC-32C. */
export const CHECKSUM_AT: usize = 0x0400;
/** The size of the tables of CRC-32C, in bytes. */
export const CHECKSUM_BYTES: u32 = 8192;
/** The address at which the checksum folds long messages. */
export const FOLDED_AT: usize = 0x2400;
/** The address of the bytes that remain after a long message is folded. */
export const REST_AT: usize = 0x4800;
/** The address at which a host stores sections, in an instance without an arena. */
export const SECTIONS_AT: u32 = 0x5000;

/** The first bytes of an initialized memory: "RPRS". */
export const MAGIC: u32 = 0x53525052;
/** The version of the ABI, which is raised when an export, an argument or a byte layout changes. */
export const ABI_VERSION: u32 = 29;

/** The maximum size of a memory, in bytes: 4 GiB less a page, so that byte offsets stay below 2^32. */
export const MAX_BYTES: u32 = 0xffff0000;

/** The base-2 logarithm of the size of a granule, the arena's unit of allocation: 4 KiB. */
export const GRANULE_BITS: u32 = 12;
export const GRANULE: u32 = 1 << GRANULE_BITS;
/** The maximum size of a pool's block, in bytes, unless a single row is larger. */
export const BLOCK_BYTES: u32 = 65536;

/** Returns the header, which is at address 0. */
export function header(): Header {
  return changetype<Header>(<usize>0);
}

/** Rounds up to a multiple of 16, for access as v128. */
export function align16(bytes: u32): u32 {
  return (bytes + 15) & ~15;
}
