/** Lines of a file of JSON, one at a time. */
import { corruptFile, type Fault } from "../../model/rlds-error.ts";
import type { Damage } from "../damage.ts";
import { parseExactJson } from "../json.ts";
import type { SourceFile } from "../sources/source.ts";

export interface Line {
  readonly value: unknown;
  /** Counted from 1, as editors do. */
  readonly number: number;
  /** Where it begins, in bytes, and how many it has. */
  readonly at: number;
  readonly bytes: number;
  /** What it is of the file; a line where it is left out. */
  readonly unit?: "element";
  /** Whether a line before it, after the last whole one, was lost. */
  readonly isAfterLoss?: boolean;
}

export interface LinesOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Of lines that are no JSON, if those are no error. */
  readonly losses?: Damage | undefined;
}

const CHUNK_BYTES = 2 ** 18;
const NEWLINE = 10;

/** Lines that are not blank. @throws RldsError CORRUPT for what is no JSON, and for a line of more than maxBytes */
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
    if (bytes > maxBytes)
      throw corruptFile(inLine(file.name, { number, at: begin }), `goes on for more than the ${maxBytes} bytes that maxBytes allows: give a larger one`);
  }
  yield* parse(parts, { number, at: begin, bytes: file.size - begin });
}

/** A line as the place of a fault. @param file its name */
export function inLine(file: string, { number, at, unit = "line" }: Pick<Line, "number" | "at"> & { readonly unit?: "line" | "element" }): Fault {
  return { file, offset: at, subject: `${unit} ${number}` };
}

/** Undefined for a blank line. */
function parseLine(parts: readonly Uint8Array[], place: Omit<Line, "value">, file: string): Line | undefined {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text: string;
  try {
    text = parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
  } catch {
    throw corruptFile(inLine(file, place), "is no UTF-8");
  }
  if (text.trim() === "") return undefined;
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    throw corruptFile(inLine(file, place), `is not JSON: ${(error as Error).message}`);
  }
  return { ...place, value };
}
