/** Reads the lines of a file of JSON lines, one at a time. */
import { corruptFile, type RldsError } from "../../model/rlds-error.ts";
import type { Damage } from "../damage.ts";
import { parseExactJson } from "../json.ts";
import type { SourceFile } from "../sources/source.ts";

/** A parsed line. */
export interface Line {
  readonly value: unknown;
  /** The line number, counted from 1 as in editors. */
  readonly number: number;
  /** The offset of the line in the file, in bytes. */
  readonly at: number;
  /** The length of the line in bytes, without its line break. */
  readonly bytes: number;
  /** The noun for the value in error messages. Default: "line". */
  readonly unit?: "element";
  /** Whether damaged lines were skipped directly before this line. */
  readonly isAfterLoss?: boolean;
}

/** The options for reading lines. */
export interface LinesOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Records damaged lines, which are skipped. If undefined, a damaged line is an error. */
  readonly losses?: Damage | undefined;
}

const CHUNK_BYTES = 2 ** 18;
const NEWLINE = 10;

/** Yields the lines that are not blank. @throws RldsError CORRUPT for a line that is larger than maxBytes, or that is not JSON and `losses` is not set */
export async function* linesOf(file: SourceFile, { maxBytes, signal, losses }: LinesOptions): AsyncGenerator<Line, void, undefined> {
  let isAfterLoss = false;
  const parse = function* (parts: readonly Uint8Array[], place: Omit<Line, "value">): Generator<Line, void, undefined> {
    let line: Line | undefined;
    try {
      line = parseLine(parts, place, file.name);
    } catch (error) {
      if (losses === undefined) throw error;
      losses.add(error);
      isAfterLoss = true;
    }
    if (line === undefined) return;
    yield isAfterLoss ? { ...line, isAfterLoss } : line;
    isAfterLoss = false;
  };
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let begin = 0;
  let number = 1;
  for (let at = 0; at < file.size; at += CHUNK_BYTES) {
    signal?.throwIfAborted();
    const chunk = await file.read(at, Math.min(CHUNK_BYTES, file.size - at));
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, to));
      yield* parse(parts, { number, at: begin, bytes: at + to - begin });
      parts = [];
      bytes = 0;
      number++;
      from = to + 1;
      begin = at + from;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > maxBytes) throw lineError(file.name, { number, at: begin }, `is longer than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
  }
  yield* parse(parts, { number, at: begin, bytes: file.size - begin });
}

/** Returns the error for a line that violates the format. @param what the message after the line number */
export function lineError(file: string, { number, at, unit }: Pick<Line, "number" | "at" | "unit">, what: string): RldsError {
  return corruptFile({ file, offset: at }, `${unit ?? "line"} ${number} ${what}`);
}

/** Parses a line. Returns undefined for a blank line. */
function parseLine(parts: readonly Uint8Array[], place: Omit<Line, "value">, file: string): Line | undefined {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text: string;
  try {
    text = parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
  } catch {
    throw lineError(file, place, "is not valid UTF-8");
  }
  if (text.trim() === "") return undefined;
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    throw lineError(file, place, `is not JSON: ${(error as Error).message}`);
  }
  return { ...place, value };
}
