/** Reads JSON values that are not stored one per line. They are the elements of one array, or objects that span several lines. */
import { corruptFile } from "../../model/rlds-error.ts";
import type { Damage } from "../damage.ts";
import { parseExactJson } from "../json.ts";
import type { SourceFile } from "../sources/source.ts";
import { type Line, type LinesOptions, lineError } from "./lines.ts";

const CHUNK_BYTES = 2 ** 18;
const [QUOTE, BACKSLASH, COMMA, OPEN, CLOSE, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 44, 91, 93, 123, 125] as const;
const BLANKS = new Set([9, 10, 13, 32]);
const MARK = [0xef, 0xbb, 0xbf];

/** The token that is expected next between values. */
type Expected = "value" | "comma" | "nothing";

/**
 * Yields one value after the other, each parsed when it is complete. @param inArray whether the values are the elements of an array @throws RldsError CORRUPT
 * if a value is damaged or larger than maxBytes, unless `losses` is set
 */
export async function* elementsOf(file: SourceFile, inArray: boolean, { maxBytes, signal, losses }: LinesOptions): AsyncGenerator<Line, void, undefined> {
  const scanner = new Scanner(file.name, { inArray, maxBytes, losses });
  try {
    for (let at = 0; at < file.size; at += CHUNK_BYTES) {
      signal?.throwIfAborted();
      yield* scanner.scan(await file.read(at, Math.min(CHUNK_BYTES, file.size - at)), at);
    }
    scanner.finish(file.size);
  } catch (error) {
    if (losses === undefined) throw error;
    // After a missing separator, the beginning of the next value is unknown, so reading stops.
    losses.add(error);
  }
}

class Scanner {
  readonly #file: string;
  readonly #inArray: boolean;
  readonly #maxBytes: number;
  readonly #losses: Damage | undefined;
  #isAfterLoss = false;
  #isBegun: boolean;
  #expected: Expected = "value";
  #hasComma = false;
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #parts: Uint8Array[] = [];
  #begin = 0;
  #number = 1;

  constructor(file: string, { inArray, maxBytes, losses }: { readonly inArray: boolean; readonly maxBytes: number; readonly losses: Damage | undefined }) {
    this.#file = file;
    this.#inArray = inArray;
    this.#isBegun = !inArray;
    this.#maxBytes = maxBytes;
    this.#losses = losses;
  }

  *scan(chunk: Uint8Array, at: number): Generator<Line, void, undefined> {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const code = chunk[i] as number;
      if (this.#depth === 0) {
        if (this.#between(code, at + i)) continue;
        from = i;
        this.#begin = at + i;
        this.#depth = 1;
        continue;
      }
      if (this.#inText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === BACKSLASH) this.#isEscaped = true;
        else if (code === QUOTE) this.#inText = false;
      } else if (code === QUOTE) this.#inText = true;
      else if (code === OPEN || code === OPEN_OBJECT) this.#depth++;
      else if ((code === CLOSE || code === CLOSE_OBJECT) && --this.#depth === 0) {
        this.#parts.push(chunk.subarray(from, i + 1));
        const line = this.#value(at + i + 1);
        if (line !== undefined) yield line;
      }
    }
    if (this.#depth === 0) return;
    this.#parts.push(chunk.subarray(from));
    const bytes = at + chunk.length - this.#begin;
    if (bytes > this.#maxBytes) throw this.#error(`is longer than the ${this.#maxBytes} bytes that maxBytes allows. Increase maxBytes`, this.#begin);
  }

  /** @throws RldsError CORRUPT if the file ends inside a value */
  finish(size: number): void {
    if (this.#depth > 0) throw this.#error("is truncated: the file ends within it", this.#begin);
    if (this.#inArray && this.#expected !== "nothing")
      throw corruptFile({ file: this.#file, offset: size }, "the JSON array is truncated: the file ends within it");
  }

  /** Returns whether a byte is between values. If not, a value begins with this byte. @throws RldsError CORRUPT if the byte is not allowed here */
  #between(code: number, at: number): boolean {
    if (BLANKS.has(code) || (at < 3 && code === MARK[at])) return true;
    if (!this.#isBegun) {
      this.#isBegun = true;
      if (code === OPEN) return true;
    } else if (code === COMMA && this.#inArray && this.#expected === "comma") {
      this.#expected = "value";
      this.#hasComma = true;
      return true;
    } else if (code === CLOSE && this.#inArray && this.#expected !== "nothing" && !this.#hasComma) {
      this.#expected = "nothing";
      return true;
    } else if ((code === OPEN_OBJECT || code === OPEN) && this.#expected === "value") {
      this.#hasComma = false;
      return false;
    }
    throw this.#error(`must be a JSON object${this.#inArray ? ", and commas must separate elements" : ""}`, at);
  }

  /** Parses the value that ends at `end`. Returns undefined if the value is damaged and losses are allowed. */
  #value(end: number): Line | undefined {
    const place = { number: this.#number, at: this.#begin, bytes: end - this.#begin, unit: "element" } as const;
    const parts = this.#parts;
    this.#parts = [];
    this.#number++;
    this.#expected = this.#inArray ? "comma" : "value";
    try {
      const line = this.#parse(parts, place);
      const isAfterLoss = this.#isAfterLoss;
      this.#isAfterLoss = false;
      return isAfterLoss ? { ...line, isAfterLoss } : line;
    } catch (error) {
      if (this.#losses === undefined) throw error;
      this.#losses.add(error);
      this.#isAfterLoss = true;
      return undefined;
    }
  }

  #parse(parts: readonly Uint8Array[], place: Omit<Line, "value">): Line {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let text: string;
    try {
      text = parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
    } catch {
      throw lineError(this.#file, place, "is not valid UTF-8");
    }
    try {
      return { ...place, value: parseExactJson(text) };
    } catch (error) {
      throw lineError(this.#file, place, `is not JSON: ${(error as Error).message}`);
    }
  }

  #error(what: string, at: number) {
    return corruptFile({ file: this.#file, offset: at }, `element ${this.#number} ${what}`);
  }
}
