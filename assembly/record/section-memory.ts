/**
 * Memory map of the sections module, which has a memory of its own.
 *
 *   0x0400 ┌──────────┐
 *          │ CHECKSUM │ 8 KiB: the tables of CRC-32C, where the core has them too
 *   0x2400 ├──────────┤
 *          │ FOLDED   │ a stretch of a message as it was folded, with what came before it and zeros behind it
 *   0x4800 ├──────────┤
 *          │ REST     │ what is left when all is folded
 *   0x5000 ├──────────┤
 *   data   │ sections │ the host's: what is to be written, or was read
 *   top    └──────────┘
 */
import { CHECKSUM_AT, CHECKSUM_BYTES } from "../memory/layout";

export const FOLDED_AT: usize = 0x2400;
if (CHECKSUM_AT + CHECKSUM_BYTES != FOLDED_AT) ERROR("FOLDED follows the tables");
export const REST_AT: usize = 0x4800;
/** Where the host's bytes begin. */
export const DATA_AT: u32 = 0x5000;
