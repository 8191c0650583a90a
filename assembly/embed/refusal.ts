/**
 * Holds the reason why the last call was refused, as zero-terminated UTF-8: `CODE: subject must be rule, got value`. Codes have the same names as in
 * TypeScript.
 *
 * REFUSAL, 8 bytes, then the text: │ code i32 │ end u32 │   end: the address at which the next part of the text is written
 */
import { E_CORRUPT, E_KEYS_EXHAUSTED, E_OUT_OF_MEMORY, E_RATE_LIMITED, E_UNSUPPORTED } from "../memory/error";
import { MAX_WHOLE, placeOf } from "./decimal";
import { Shortest } from "./shortest";
import { characterBytes, wholeCharacters } from "./utf8";

/** The code of an invalid argument. This code and the next ones supplement the core's codes. */
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
/** The last address at which the terminating zero may be. */
const LAST: usize = REFUSAL_AT + 1023;
/** The maximum number of bytes of a name that a refusal shows. */
const MAX_SHOWN: u32 = 128;

@unmanaged
export class Refusal {
  code: i32;
  end: u32;

  /** Begins a new refusal. */
  static of(code: i32): Refusal {
    const refusal = changetype<Refusal>(REFUSAL_AT);
    refusal.code = code;
    refusal.end = <u32>TEXT_AT;
    store<u8>(TEXT_AT, 0);
    return refusal.put(nameOf(code)).put(": ");
  }

  /** Returns the code of the last refusal. */
  static last(): i32 {
    return changetype<Refusal>(REFUSAL_AT).code;
  }

  put(text: string): Refusal {
    for (let i = 0; i < text.length; i++) {
      // Literals contain nothing above U+FFFF.
      const unit = <u32>text.charCodeAt(i);
      if (!this.fits(unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3)) return this;
      if (unit < 0x80) this.byte(unit);
      else {
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

  /** Appends untrusted UTF-8 in quotes; a long text is cut after a whole character. A zero would end the text, so it is shown as \0. */
  word(at: usize, bytes: u32): Refusal {
    this.put('"');
    const shown = bytes > MAX_SHOWN ? wholeCharacters(at, MAX_SHOWN) : bytes;
    for (let i: u32 = 0; i < shown; ) {
      const character = min(shown - i, characterBytes(load<u8>(at + <usize>i)));
      if (load<u8>(at + <usize>i) == 0) this.put("\\0");
      else if (!this.fits(character)) return this;
      else for (let k: u32 = 0; k < character; k++) this.byte(load<u8>(at + <usize>(i + k)));
      i += character;
    }
    return this.put(shown < bytes ? '…"' : '"');
  }

  /** Appends a number in the format of JavaScript. */
  number(x: f64): Refusal {
    if (!Number.isFinite(x)) return this.put(Number.isNaN(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
    if (x < 0) this.put("-");
    const size = Math.abs(x);
    return size <= MAX_WHOLE && Math.floor(size) == size ? this.digits(<u64>size) : this.shortest(Shortest.of(size));
  }

  /** Appends an index in brackets: `items[3]`. */
  index(i: u32): Refusal {
    this.put("[");
    return this.digits(i).put("]");
  }

  private digits(n: u64): Refusal {
    for (let place = placeOf(n); place > 0; place /= 10) this.digit(<u32>((n / place) % 10));
    return this;
  }

  private shortest(number: Shortest): Refusal {
    const point = number.point;
    if (point > 21 || point < -5) {
      this.digit(number.digit(0));
      if (number.count > 1) this.put(".");
      for (let i: u32 = 1; i < number.count; i++) this.digit(number.digit(i));
      this.put(point > 0 ? "e+" : "e-");
      return this.digits(<u64>abs(point - 1));
    }
    if (point <= 0) this.put("0.");
    for (let i = point; i < 0; i++) this.digit(0);
    for (let i = 0; i < max(<i32>number.count, point); i++) {
      if (i == point && i > 0) this.put(".");
      this.digit(i < <i32>number.count ? number.digit(i) : 0);
    }
    return this;
  }

  private digit(digit: u32): void {
    if (this.fits(1)) this.byte(48 + digit);
  }

  /** Whether there is room for `bytes` more bytes. If not, the text ends here. */
  private fits(bytes: u32): bool {
    if (<usize>(this.end + bytes) <= LAST) return true;
    this.end = <u32>LAST;
    return false;
  }

  private byte(byte: u32): void {
    store<u8>(this.end, <u8>byte);
    this.end += 1;
    store<u8>(this.end, 0);
  }
}
if (offsetof<Refusal>() != 8) ERROR("REFUSAL is 8 bytes");

/** Refuses a call because there is no memory for the described Replay. */
export function noRoom(): i32 {
  return Refusal.of(E_OUT_OF_MEMORY).put("there is no memory for the described Replay. Increase bytes").code;
}

/** Refuses a text, or names in a snapshot, because they are not valid UTF-8. */
export function notUtf8(): i32 {
  return Refusal.of(INVALID_DATA).put("the text, and the names in a snapshot, must be valid UTF-8").code;
}

/** Returns the address of the last refusal's text; empty before the first refusal. */
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
