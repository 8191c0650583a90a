/**
 * CRC-32C of long messages, several times as fast as by tables, after the idea of Chorba (S. Russell, 2024): the message is divided by a multiple of the
 * polynomial that has few terms, here
 *
 *   y^266 + y^143 + y^121 + y^88 + y^71 + 1,   y = x^8
 *
 * found by search: fewer terms take a degree of 5,275. By it a byte counts as much as the same byte 123, 145, 178, 195 and 266 places later, all five. So all
 * but the last bytes fold away by XORs of whole vectors, and what is left has the checksum of the message.
 */
import { FOLDED_AT, REST_AT } from "../memory/layout";
import { crc32c as byTables } from "./crc32c";

const DEGREE: usize = 266;
/** What is left of a message: the degree, rounded up to vectors. */
const REST: u32 = 272;
/** So much is folded at a time, in the fastest cache. */
const STRETCH: u32 = 8192;
/** Shorter messages are not worth it. */
const SHORT: u32 = 512;
if (FOLDED_AT + REST + STRETCH + REST > REST_AT) ERROR("FOLDED is too long");

/** O(length): continues `crc` (0 to begin) over a run of bytes. They are changed meanwhile, and are then as they were. */
export function crc32c(crc: u32, at: usize, length: u32): u32 {
  if (!ASC_FEATURE_SIMD) return byTables(crc, at, length);
  if (length < SHORT) return byTables(crc, at, length);
  const folded = FOLDED_AT + REST;
  memory.fill(FOLDED_AT, 0, REST);
  // The register that a checksum begins with is as good as other first bytes.
  const start = at;
  const word = load<u32>(start);
  store<u32>(start, word ^ ~crc);
  let left = length - REST;
  let stretch = min(left, STRETCH);
  for (;;) {
    const end = at + stretch;
    for (let to = folded - DEGREE; at < end; at += 64, to += 64) {
      v128.store(to, term(at, to, 0), DEGREE);
      v128.store(to, term(at, to, 16), DEGREE + 16);
      v128.store(to, term(at, to, 32), DEGREE + 32);
      v128.store(to, term(at, to, 48), DEGREE + 48);
    }
    at = end;
    left -= stretch;
    if (left == 0) break;
    memory.copy(FOLDED_AT, folded + stretch - REST, REST);
    stretch = min(left, STRETCH);
  }
  store<u32>(start, word);
  // Whatever stands behind the last stretch was folded too far.
  memory.fill(folded + stretch, 0, REST);
  for (let i: u32 = 0; i < REST; i += 16) v128.store(REST_AT + i, term(at + i, folded + stretch + i - DEGREE, 0));
  return byTables(~0, REST_AT, REST);
}

/** A vector of the message with all that counts there; `to` is as far before its place as anything counts. The terms are offsets that cost nothing. */
function term(at: usize, to: usize, i: usize): v128 {
  const near = v128.xor(v128.load(to + i, DEGREE - 123), v128.load(to + i, DEGREE - 145));
  const far = v128.xor(v128.load(to + i, DEGREE - 178), v128.xor(v128.load(to + i, DEGREE - 195), v128.load(to + i)));
  return v128.xor(v128.load(at + i), v128.xor(near, far));
}
