/** Reads the JSON files of a dataset. Each value that is accessed is checked, so any fault causes an RldsError. */
import { isRequired } from "../../../base/error.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { parseJson } from "../json.ts";
import type { SourceFolder } from "../sources/source.ts";

export type Json = { readonly [key: string]: unknown };

/** Reads a file that contains a JSON object. @throws RldsError NOT_FOUND if the file does not exist · CORRUPT if it exceeds maxBytes or is not a JSON object */
export async function readJson(folder: SourceFolder, path: string, maxBytes: number): Promise<Json> {
  const file = await folder.open(path);
  try {
    if (file.size > maxBytes)
      throw corruptFile({ file: path }, `the file has ${file.size} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.read(0, file.size));
    return object(parseJson(text), "the file", path);
  } catch (cause) {
    if (cause instanceof RldsError) throw cause;
    throw corruptFile({ file: path }, `the file is not JSON: ${(cause as Error).message}`, cause);
  } finally {
    await file.close();
  }
}

export function object(value: unknown, subject: string, file: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw fieldError(subject, "an object", value, file);
}

export function list(value: unknown, subject: string, file: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw fieldError(subject, "a list", value, file);
}

export function text(value: unknown, subject: string, file: string): string {
  if (typeof value === "string") return value;
  throw fieldError(subject, "a string", value, file);
}

/** Returns an integer. The JSON of protobuf stores integers as strings. @throws RldsError CORRUPT if the value is not an integer >= min */
export function parseInteger(value: unknown, subject: string, file: string, min = 0): number {
  const number = typeof value === "string" && /^-?\d+$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= min) return number;
  throw fieldError(subject, `an integer >= ${min}`, value, file);
}

function fieldError(subject: string, rule: string, value: unknown, file: string): RldsError {
  if (value === undefined) return corruptFile({ file }, isRequired(subject, rule));
  const valueText = JSON.stringify(value);
  return corruptFile({ file }, `${subject} must be ${rule}, got ${valueText.length > 80 ? `${valueText.slice(0, 80)} …` : valueText}`);
}
