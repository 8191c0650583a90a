/** Reads the rows of a text table one at a time with papaparse. */
import type { RldsError } from "../../model/rlds-error.ts";
import type { Damage } from "../damage.ts";
import { lineError } from "../jsonl/lines.ts";
import type { SourceFile } from "../sources/source.ts";

/** A row of a table. */
export interface TableRow {
  readonly cells: readonly string[];
  /** The number of the first line of the row, counted from 1. */
  readonly number: number;
  /** The offset of the row in the file, in bytes. `bytes` is its length. */
  readonly at: number;
  readonly bytes: number;
  /** Whether rows between the last complete row and this row were lost. */
  readonly isAfterLoss?: boolean;
}

/** The separators of a table. */
export interface TableForm {
  readonly delimiter: string;
  readonly newline: "\n" | "\r\n" | "\r";
}

/** The options for reading rows. */
export interface RowOptions {
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  readonly losses?: Damage | undefined;
}

const CHUNK_BYTES = 2 ** 18;
const HEAD_BYTES = 2 ** 16;
const DELIMITERS = [",", "\t", ";", "|"];

/** Detects the separators of cells and rows from the beginning of the file. */
export async function tableForm(file: SourceFile): Promise<TableForm> {
  const { Parser } = await import("./papaparse.ts");
  const head = new TextDecoder().decode(await file.read(0, Math.min(file.size, HEAD_BYTES)));
  const newline = head.includes("\r\n") ? "\r\n" : head.includes("\n") || !head.includes("\r") ? "\n" : "\r";
  const widths = DELIMITERS.map((delimiter) => {
    const { data } = new Parser({ delimiter, newline, preview: 1 }).parse(head, 0, false) as { readonly data: readonly (readonly string[])[] };
    return data[0]?.length ?? 0;
  });
  return { delimiter: DELIMITERS[widths.indexOf(Math.max(...widths))] as string, newline };
}

/**
 * Yields the rows of a table, beginning with the header. Skips blank rows.
 * @throws RldsError CORRUPT for invalid UTF-8 or a row larger than maxBytes
 * @throws RldsError CORRUPT for invalid quotes if `losses` is undefined. Otherwise, the row is recorded in `losses` and skipped
 */
export async function* tableRows(file: SourceFile, { delimiter, newline }: TableForm, options: RowOptions): AsyncGenerator<TableRow, void, undefined> {
  const { maxBytes, signal, losses } = options;
  const { Parser } = await import("./papaparse.ts");
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let number = 1;
  let begin = 0;
  let isAfterLoss = false;
  /** The number of characters that must be available before the next attempt to parse. Without this limit, a long row would be parsed again for each chunk. */
  let awaited = 0;
  const rows = function* (isLast: boolean): Generator<TableRow, void, undefined> {
    let done = 0;
    const found: { readonly cells: readonly string[]; readonly end: number; readonly fault: string | undefined }[] = [];
    const step = ({ data, errors, meta }: { data: unknown; errors: readonly { readonly message: string }[]; meta: { readonly cursor: number } }) => {
      for (const cells of data as readonly (readonly string[])[]) found.push({ cells, end: meta.cursor, fault: errors[0]?.message });
    };
    new Parser({ delimiter, newline, step } as object).parse(text, 0, !isLast);
    for (const { cells, end, fault } of found) {
      const row = text.slice(done, end);
      const bytes = byteLength(row);
      const place = { number, at: begin, bytes };
      done = end;
      begin += bytes;
      number += row.includes('"') ? Math.max(1, row.split(newline).length - 1) : 1;
      if (cells.length === 1 && (cells[0] as string).trim() === "") continue;
      if (fault !== undefined) {
        const error = lineError(file.name, place, `is not a valid row: ${fault}`);
        if (losses === undefined) throw error;
        losses.add(error);
        isAfterLoss = true;
        continue;
      }
      yield isAfterLoss ? { cells, ...place, isAfterLoss } : { cells, ...place };
      isAfterLoss = false;
    }
    text = text.slice(done);
    awaited = 2 * text.length;
  };
  const encodingError = (): RldsError => lineError(file.name, { number, at: begin }, "or a later line is not valid UTF-8");
  for (let at = 0; at < file.size; at += CHUNK_BYTES) {
    signal?.throwIfAborted();
    const chunk = await file.read(at, Math.min(CHUNK_BYTES, file.size - at));
    try {
      text += decoder.decode(chunk, { stream: true });
    } catch {
      throw encodingError();
    }
    if (text.length >= awaited) yield* rows(false);
    if (text.length > maxBytes)
      throw lineError(file.name, { number, at: begin }, `is longer than the ${maxBytes} bytes that maxBytes allows. Increase maxBytes`);
  }
  try {
    text += decoder.decode();
  } catch {
    throw encodingError();
  }
  if (text !== "") yield* rows(true);
}

/** Returns the length of a text in UTF-8, in bytes. */
function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7ff) bytes += code >= 0xd800 && code < 0xe000 ? 1 : 2;
    else if (code > 0x7f) bytes++;
  }
  return bytes;
}
