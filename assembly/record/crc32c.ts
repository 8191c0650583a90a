/** CRC-32C (Castagnoli), as in TFRecord, gRPC and iSCSI: eight tables, eight bytes a step. */
import { CHECKSUM_AT, CHECKSUM_BYTES } from "../memory/layout";

const POLYNOMIAL: u32 = 0x82f63b78;
/** Eight tables of 256 words, filled on first use. */
const TABLES: usize = CHECKSUM_AT;
if (8 * 256 * 4 != CHECKSUM_BYTES) ERROR("the memory map has room for eight tables");

/** O(length): continues `crc` (0 to begin) over a run of bytes. */
export function crc32c(crc: u32, at: usize, length: u32): u32 {
  if (load<u32>(TABLES, 4) == 0) fillTables();
  const end = at + <usize>length;
  let c = ~crc;
  while (at + 8 <= end) {
    const low = load<u32>(at) ^ c;
    const high = load<u32>(at, 4);
    c = four(low, 7) ^ four(high, 3);
    at += 8;
  }
  for (; at < end; at++) c = entry(0, c ^ load<u8>(at)) ^ (c >> 8);
  return ~c;
}

/** The four bytes of a word through tables k, k - 1, k - 2, k - 3. */
function four(word: u32, k: u32): u32 {
  return entry(k, word) ^ entry(k - 1, word >> 8) ^ entry(k - 2, word >> 16) ^ entry(k - 3, word >> 24);
}

function entry(k: u32, byte: u32): u32 {
  return load<u32>(TABLES + <usize>((k << 10) + ((byte & 255) << 2)));
}

function fillTables(): void {
  for (let byte: u32 = 0; byte < 256; byte++) {
    let c = byte;
    for (let bit = 0; bit < 8; bit++) c = (c >> 1) ^ (POLYNOMIAL & (0 - (c & 1)));
    store<u32>(TABLES + ((<usize>byte) << 2), c);
  }
  for (let i: u32 = 256; i < 8 * 256; i++) {
    const c = load<u32>(TABLES + ((<usize>(i - 256)) << 2));
    store<u32>(TABLES + ((<usize>i) << 2), entry(0, c) ^ (c >> 8));
  }
}
