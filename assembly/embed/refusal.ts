/**
 * Why the last call was refused: `CODE: subject must be rule, got value`, in UTF-8 with a zero behind it. Codes have the names that they have in TypeScript.
 *
 * REFUSAL, 8 bytes, then the text: │ code i32 │ end u32 │   end: where the text goes on
 */
import { E_CORRUPT, E_KEYS_EXHAUSTED, E_OUT_OF_MEMORY, E_RATE_LIMITED, E_UNSUPPORTED } from "../memory/error";

/** Beside the core's own: an argument that is none. */
export const INVALID: i32 = -16;
export const CLOSED: i32 = -17;
export const NOT_FOUND: i32 = -18;
export const SPEC_MISMATCH: i32 = -19;
export const INVALID_DATA: i32 = -20;
export const EMPTY: i32 = -21;
export const TOO_FEW: i32 = -22;
export const OUT_OF_TURN: i32 = -23;

const REFUSAL_AT: usize = memory.data(1024, 8);
const TEXT_AT: usize = REFUSAL_AT + 8;
/** Where the zero stands at the latest. */
const LAST: usize = REFUSAL_AT + 1023;

@unmanaged
export class Refusal {
  code: i32;
  end: u32;

  /** A new one. */
  static of(code: i32): Refusal {
    const refusal = changetype<Refusal>(REFUSAL_AT);
    refusal.code = code;
    refusal.end = <u32>TEXT_AT;
    store<u8>(TEXT_AT, 0);
    return refusal.put(nameOf(code)).put(": ");
  }

  /** The code of the one that came last. */
  static last(): i32 {
    return changetype<Refusal>(REFUSAL_AT).code;
  }

  put(text: string): Refusal {
    for (let i = 0; i < text.length; i++) {
      const unit = <u32>text.charCodeAt(i);
      if (unit < 0x80) this.byte(unit);
      else {
        // Literals have nothing above U+FFFF.
        if (unit < 0x800) this.byte(0xc0 | (unit >> 6));
        else {
          this.byte(0xe0 | (unit >> 12));
          this.byte(0x80 | ((unit >> 6) & 63));
        }
        this.byte(0x80 | (unit & 63));
      }
    }
    return this;
  }

  /** UTF-8 from anywhere, in quotes. */
  word(at: u32, bytes: u32): Refusal {
    this.put('"');
    for (let i: u32 = 0; i < bytes; i++) this.byte(load<u8>(<usize>at + <usize>i));
    return this.put('"');
  }

  number(x: f64): Refusal {
    if (!Number.isFinite(x)) return this.put(Number.isNaN(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
    if (x < 0) this.put("-");
    let left = Math.abs(x);
    let exponent = 0;
    for (; left >= 1e16; exponent++) left /= 10;
    for (; left > 0 && left < 1e-4; exponent--) left *= 10;
    const whole = <u64>left;
    this.digits(whole);
    let rest = <u64>((left - <f64>whole) * 1000000);
    if (rest > 0) {
      this.put(".");
      for (let place: u64 = 100000; rest > 0; place /= 10) {
        this.byte(48 + <u32>(rest / place));
        rest %= place;
      }
    }
    if (exponent == 0) return this;
    this.put(exponent < 0 ? "e-" : "e");
    return this.digits(<u64>(exponent < 0 ? -exponent : exponent));
  }

  /** In brackets, where a list of items stands: `items[3]`. */
  index(i: u32): Refusal {
    this.put("[");
    return this.digits(i).put("]");
  }

  private digits(n: u64): Refusal {
    let place: u64 = 1;
    while (n / place >= 10) place *= 10;
    for (; place > 0; place /= 10) this.byte(48 + <u32>((n / place) % 10));
    return this;
  }

  private byte(byte: u32): void {
    if (<usize>this.end >= LAST) return;
    store<u8>(this.end, <u8>byte);
    this.end += 1;
    store<u8>(this.end, 0);
  }
}
if (offsetof<Refusal>() != 8) ERROR("REFUSAL is 8 bytes");

/** Where the text of the last refusal is; empty before the first. */
export function replay_error(): u32 {
  return <u32>TEXT_AT;
}

function nameOf(code: i32): string {
  switch (code) {
    case E_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case E_RATE_LIMITED:
      return "RATE_LIMITED";
    case E_KEYS_EXHAUSTED:
      return "KEYS_EXHAUSTED";
    case E_CORRUPT:
      return "CORRUPT";
    case E_UNSUPPORTED:
      return "UNSUPPORTED";
    case CLOSED:
      return "CLOSED";
    case NOT_FOUND:
      return "NOT_FOUND";
    case SPEC_MISMATCH:
      return "SPEC_MISMATCH";
    case INVALID_DATA:
      return "INVALID_DATA";
    case EMPTY:
      return "EMPTY";
    case TOO_FEW:
      return "TOO_FEW";
    case OUT_OF_TURN:
      return "OUT_OF_TURN";
    default:
      return "INVALID";
  }
}
