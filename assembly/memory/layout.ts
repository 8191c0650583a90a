/**
 * Memory map. Everything the core knows lives in linear memory: no wasm global, no host object.
 *
 *   0x0000 ┌──────────────┐
 *          │ HEADER       │ 1 KiB: magic, error cell, arena; from 0x0120 on the coefficients of power (192 bytes), from 0x0200 on zeros, for ever
 *   0x0400 ├──────────────┤
 *          │ CHECKSUM     │ 8 KiB: the tables of CRC-32C, which the image module fills
 *   0x2400 ├──────────────┤ the end of static memory (memoryBase in asconfig.json)
 *   heap   ├──────────────┤ rounded up to a granule
 *          │ granules     │ pools, streams, tables, draws
 *   top    └──────────────┘
 *
 * HEADER, 128 bytes:
 *    0 │ magic u32        │ abiVersion u32    │
 *    8 │ errorCode i32    │ errorArgument i32 │
 *   16 │ errorValue f64                       │
 *   24 │ top u32          │ limit u32         │  granules
 *   32 │ free u32         │ marks u32         │  granules · tracking build: marks that were set (marks.ts)
 *   40 │ runs u32 × 20                        │  first free run of 2^k … 2^(k+1) - 1 granules
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
  marks: u32;
}
if (offsetof<Header>() != 40) ERROR("HEADER: the free runs follow at byte 40");

/** Where the heads of the free runs begin. */
export const RUNS_AT: usize = 40;
/** Run classes: 2^20 granules are 4 GiB. */
export const RUN_CLASSES: u32 = 20;

/** 512 bytes that are never written: what padding is read from. */
export const ZEROS_AT: usize = 512;

/** The tables of the checksum. */
export const CHECKSUM_AT: usize = 1024;
export const CHECKSUM_BYTES: u32 = 8192;

/** "RPRS" */
export const MAGIC: u32 = 0x53525052;
/** Raised when an export, an argument or a byte layout changes. */
export const ABI_VERSION: u32 = 2;

/** The arena deals in granules of 4 KiB. */
export const GRANULE_BITS: u32 = 12;
export const GRANULE: u32 = 1 << GRANULE_BITS;
/** A block of a pool holds at most this much. */
export const BLOCK_BYTES: u32 = 65536;

/** The header stands at address 0. */
export function header(): Header {
  return changetype<Header>(<usize>0);
}

/** Rounds up to a multiple of 16, so that what follows may be read as v128. */
export function align16(bytes: u32): u32 {
  return (bytes + 15) & ~15;
}
