/**
 * Reads the text of a Replay word by word: lines of words between spaces; `#` begins a comment; a word in double quotes may have spaces, and \" \\ \n.
 *
 * WORDS, 40 bytes: │ at u32 │ end u32 │ line u32 │ word u32 │ bytes u32 │ broken u32 │ value f64 │ saved u32 │ … u32 │
 *   at, end: the rest of the text · line: the number of the current line · word, bytes: the last word, in its place in the text · broken: the word is a quote without an end
 *   value: the word as a number · saved: 1 for the lines of a snapshot, which no host has seen
 */
import { numberOf } from "./decimal";
import { GrowingArray } from "./growing-array";
import { INVALID, noRoom, Refusal } from "./refusal";
import { isText } from "./utf8";

const WORDS_AT: usize = memory.data(40, 8);
/** The maximum number of lines of one kind, and of names after `next`. */
const MAX_ENTRIES: u32 = 4096;

const NEWLINE: u32 = 10;
const SPACE: u32 = 32;
const QUOTE: u32 = 34;
const HASH: u32 = 35;
const BACKSLASH: u32 = 92;

@unmanaged
export class TextReader {
  at: u32;
  end: u32;
  line: u32;
  word: u32;
  bytes: u32;
  broken: u32;
  value: f64;
  saved: u32;
  unused: u32;

  static of(text: u32, bytes: u32): TextReader {
    const words = changetype<TextReader>(WORDS_AT);
    memory.fill(WORDS_AT, 0, offsetof<TextReader>());
    words.at = text;
    words.end = text + bytes;
    return words;
  }

  /** Skips the rest of the current line, moves to the next line with a word, and reads that word. Returns false at the end of the text. */
  nextLine(): bool {
    while (true) {
      if (this.line != 0) {
        while (this.next()) {}
        if (this.at == this.end) return false;
        this.at += 1;
      }
      this.line += 1;
      if (this.next()) return true;
    }
  }

  /** Reads the next word of the line; false if there is none. Sets `broken` if the word is malformed. */
  next(): bool {
    while (this.at < this.end && isSpace(this.peek())) this.at += 1;
    this.word = this.at;
    this.bytes = 0;
    if (this.at == this.end || this.peek() == NEWLINE) return false;
    if (this.peek() == HASH) {
      while (this.at < this.end && this.peek() != NEWLINE) this.at += 1;
      return false;
    }
    if (this.peek() == QUOTE) return this.quoted();
    while (this.at < this.end && !isSpace(this.peek()) && this.peek() != NEWLINE && this.peek() != QUOTE && this.peek() != HASH) this.at += 1;
    this.bytes = this.at - this.word;
    return true;
  }

  /** Whether the word equals `word`. */
  is(word: string): bool {
    return this.broken == 0 && isText(this.word, this.bytes, word);
  }

  /** Reads the next word, which is required. Returns 0 or INVALID. */
  want(what: string): i32 {
    if (!this.next()) return this.here(INVALID).put(what).put(" is required").code;
    return this.broken == 0 ? 0 : this.here(INVALID).put(what).put(" has no closing quote").code;
  }

  /** Reads the next word as a number into `value`. Returns 0 or INVALID. */
  number(what: string, least: f64, most: f64): i32 {
    if (this.want(what) != 0) return INVALID;
    return this.isNumber(least, most) ? 0 : this.outOfRange(what, "a number", least, most);
  }

  /** Like `number`, for a whole number. */
  integer(what: string, least: f64, most: f64): i32 {
    return this.want(what) != 0 ? INVALID : this.integerHere(what, least, most);
  }

  /** Like `integer`, for the word that was read last. */
  integerHere(what: string, least: f64, most: f64): i32 {
    return this.isInteger(least, most) ? 0 : this.outOfRange(what, "an integer", least, most);
  }

  /** Checks that the line ends here. Returns 0 or INVALID. */
  done(): i32 {
    return this.next() ? this.got(this.here(INVALID).put("the line must end here")) : 0;
  }

  /** Stores the next word, which is required, in a WORD. Returns 0 or INVALID. */
  keep(what: string, to: usize): i32 {
    if (this.want(what) != 0) return INVALID;
    changetype<Word>(to).at = this.word;
    changetype<Word>(to).bytes = this.bytes;
    return 0;
  }

  /** Refuses a word that is not one of the known words. */
  unknown(known: string): i32 {
    return this.refused("the word", known);
  }

  /** Refuses a word with a message such as `line 3: what must be rule, got "word"`. */
  refused(what: string, rule: string): i32 {
    return this.got(this.here(INVALID).put(what).put(" must be ").put(rule));
  }

  /** Ends a refusal with the current word. */
  got(refusal: Refusal): i32 {
    if (this.broken != 0) return refusal.put(", got a word without a closing quote").code;
    return refusal.put(", got ").word(this.word, this.bytes).code;
  }

  /** Begins a refusal with the number of the line. */
  here(code: i32): Refusal {
    const refusal = Refusal.of(code);
    return this.saved != 0 ? refusal.put("the snapshot: ") : refusal.put("line ").number(this.line).put(": ");
  }

  /**
   * Adds a zeroed entry to a list. Returns 0, with a refusal, if there is no memory or the list is full. Lists are limited because some are compared pairwise.
   */
  entry(list: GrowingArray, bytes: u32, what: string): usize {
    if (list.count == MAX_ENTRIES) {
      this.here(INVALID).put("the number of ").put(what).put(" must be at most ").number(MAX_ENTRIES).put(", got more");
      return 0;
    }
    const at = list.push(bytes);
    if (at == 0) noRoom();
    return at;
  }

  /** Whether the word is a whole number in a range; if so, stores the number in `value`. */
  isInteger(least: f64, most: f64): bool {
    return this.isNumber(least, most) && Math.floor(this.value) == this.value;
  }

  /** Like `isInteger`, for any number. */
  isNumber(least: f64, most: f64): bool {
    this.value = this.broken != 0 ? NaN : numberOf(this.word, this.bytes);
    return this.value >= least && this.value <= most;
  }

  private outOfRange(what: string, kind: string, least: f64, most: f64): i32 {
    const refusal = this.here(INVALID).put(what).put(" must be ").put(kind);
    if (least == f64.MIN_VALUE) refusal.put(" above 0");
    else if (least > -f64.MAX_VALUE) refusal.put(most < f64.MAX_VALUE ? " from " : " of at least ").number(least);
    if (most < f64.MAX_VALUE) refusal.put(least == f64.MIN_VALUE ? " and at most " : " to ").number(most);
    return refusal.put(" (at most 15 digits, exponents from e-22 to e22), got ").word(this.word, this.bytes).code;
  }

  /** Reads a word in quotes, and removes its backslashes in place. */
  private quoted(): bool {
    this.at += 1;
    this.word = this.at;
    let to = this.at;
    while (this.at < this.end && this.peek() != QUOTE && this.peek() != NEWLINE) {
      let byte = this.peek();
      this.at += 1;
      if (byte == BACKSLASH && this.at < this.end && this.peek() != NEWLINE) {
        byte = this.peek() == 110 ? NEWLINE : this.peek();
        this.at += 1;
      }
      store<u8>(to, <u8>byte);
      to += 1;
    }
    this.bytes = to - this.word;
    if (this.at == this.end || this.peek() == NEWLINE) this.broken = 1;
    else this.at += 1;
    return true;
  }

  @inline
  private peek(): u32 {
    return <u32>load<u8>(this.at);
  }
}
if (offsetof<TextReader>() != 40) ERROR("WORDS is 40 bytes");

/** A stored word: 8 bytes. */
@unmanaged
export class Word {
  at: u32;
  bytes: u32;
}

/** Whether two words are equal. */
export function sameWord(a: u32, aBytes: u32, b: u32, bBytes: u32): bool {
  return aBytes == bBytes && memory.compare(a, b, aBytes) == 0;
}

function isSpace(byte: u32): bool {
  return byte == SPACE || byte == 9 || byte == 13;
}
