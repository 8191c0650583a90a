/** Lines of a file of JSON, one at a time. */
import { corruptFile, type Fault } from "../../model/rlds-error.ts";
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
}

const CHUNK_BYTES = 2 ** 18;
const NEWLINE = 10;

/** Lines that are not blank. @throws RldsError CORRUPT for what is no JSON, and for a line of more than maxBytes */
export async function* linesOf(file: SourceFile, maxBytes: number, signal?: AbortSignal): AsyncGenerator<Line, void, undefined> {
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
      yield* parseLine(parts, { number, at: begin, bytes: at + to - begin }, file.name);
      parts = [];
      bytes = 0;
      number++;
      from = to + 1;
      begin = at + from;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > maxBytes) throw corruptFile(inLine(file.name, { number, at: begin }), `goes on for more than the ${maxBytes} bytes that maxBytes allows`);
  }
  yield* parseLine(parts, { number, at: begin, bytes: file.size - begin }, file.name);
}

/** A line as the place of a fault. @param file its name */
export function inLine(file: string, { number, at, unit = "line" }: Pick<Line, "number" | "at"> & { readonly unit?: "line" | "element" }): Fault {
  return { file, offset: at, subject: `${unit} ${number}` };
}

function* parseLine(parts: readonly Uint8Array[], place: Omit<Line, "value">, file: string): Generator<Line, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text: string;
  try {
    text = parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode();
  } catch {
    throw corruptFile(inLine(file, place), "is no UTF-8");
  }
  if (text.trim() === "") return;
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    throw corruptFile(inLine(file, place), `is not JSON: ${(error as Error).message}`);
  }
  yield { ...place, value };
}
