/**
 * Computes CRC-32C (Castagnoli), as in TFRecord, gRPC and iSCSI. Short messages use eight tables, eight bytes per step. With SIMD, long messages are several
 * times as fast, with the method of Chorba (S. Russell, 2024): the message is divided by a multiple of the polynomial that has few terms, here
 *
 * y^266 + y^143 + y^121 + y^88 + y^71 + 1,   y = x^8
 *
 * The multiple was found with a search; a multiple with fewer terms has a degree of at least 5,275. With this multiple, a byte has the same effect as the same
 * byte at all of the places 123, 145, 178, 195 and 266 bytes later. So XORs of whole vectors fold all but the last bytes away, and the rest has the checksum of
 * the message.
 */
import { CHECKSUM_AT, CHECKSUM_BYTES, FOLDED_AT, REST_AT } from "../memory/layout";

const POLYNOMIAL: u32 = 0x82f63b78;
/** Eight tables of 256 words, filled on first use. */
const TABLES: usize = CHECKSUM_AT;
if (8 * 256 * 4 != CHECKSUM_BYTES) ERROR("the memory map has room for eight tables");

const DEGREE: usize = 266;
/** The exponents of the terms between the first and the last one. */
const A: usize = DEGREE - 123;
const B: usize = DEGREE - 145;
const C: usize = DEGREE - 178;
const D: usize = DEGREE - 195;
/** The number of bytes of a message that remain after folding: the degree, rounded up to whole vectors. */
const REST: u32 = 272;
/** The number of bytes that are folded in one go, which fit in the first-level cache. */
const STRETCH: u32 = 8192;
/** The length in bytes from which a message is folded. For shorter messages, the tables are faster. */
const SHORT: u32 = 512;
if (FOLDED_AT + REST + STRETCH + REST > REST_AT) ERROR("FOLDED is too long");

/** Continues the checksum `crc` (0 to begin) over `length` bytes. May change the bytes during the call, and restores them before it returns. O(length) */
export function crc32c(crc: u32, at: usize, length: u32): u32 {
  if (ASC_FEATURE_SIMD) {
    if (length >= SHORT) return byFolding(crc, at, length);
  }
  return byTables(crc, at, length);
}

function byFolding(crc: u32, at: usize, length: u32): u32 {
  const folded = FOLDED_AT + REST;
  memory.fill(FOLDED_AT, 0, REST);
  // The checksum so far is XORed into the first bytes of the message, so that it is folded together with them.
  const start = at;
  const word = load<u32>(start);
  store<u32>(start, word ^ ~crc);
  let left = length - REST;
  let stretch = min(left, STRETCH);
  for (;;) {
    const end = at + stretch;
    for (let to = folded - DEGREE; at < end; at += 64, to += 64) {
      // Offsets that are part of the instructions cost nothing, whereas computed addresses would.
      v128.store(to, sum(v128.load(at), v128.load(to, A), v128.load(to, B), v128.load(to, C), v128.load(to, D), v128.load(to)), DEGREE);
      v128.store(
        to,
        sum(v128.load(at, 16), v128.load(to, A + 16), v128.load(to, B + 16), v128.load(to, C + 16), v128.load(to, D + 16), v128.load(to, 16)),
        DEGREE + 16,
      );
      v128.store(
        to,
        sum(v128.load(at, 32), v128.load(to, A + 32), v128.load(to, B + 32), v128.load(to, C + 32), v128.load(to, D + 32), v128.load(to, 32)),
        DEGREE + 32,
      );
      v128.store(
        to,
        sum(v128.load(at, 48), v128.load(to, A + 48), v128.load(to, B + 48), v128.load(to, C + 48), v128.load(to, D + 48), v128.load(to, 48)),
        DEGREE + 48,
      );
    }
    at = end;
    left -= stretch;
    if (left == 0) break;
    memory.copy(FOLDED_AT, folded + stretch - REST, REST);
    stretch = min(left, STRETCH);
  }
  store<u32>(start, word);
  // The last loop may have folded bytes past the stretch, which the rest contains too.
  memory.fill(folded + stretch, 0, REST);
  for (let i: u32 = 0; i < REST; i += 16) {
    const to = folded + stretch + i - DEGREE;
    v128.store(REST_AT + i, sum(v128.load(at + i), v128.load(to, A), v128.load(to, B), v128.load(to, C), v128.load(to, D), v128.load(to)));
  }
  return byTables(~0, REST_AT, REST);
}

/** Combines a vector of the message with the five vectors that affect it, each at the distance of its term. */
function sum(own: v128, a: v128, b: v128, c: v128, d: v128, e: v128): v128 {
  return v128.xor(own, v128.xor(v128.xor(a, b), v128.xor(c, v128.xor(d, e))));
}

function byTables(crc: u32, at: usize, length: u32): u32 {
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

/** Looks up the four bytes of a word in the tables k, k - 1, k - 2 and k - 3. */
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
