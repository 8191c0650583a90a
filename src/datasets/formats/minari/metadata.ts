/** Reads the metadata.json of a Minari dataset or episode. */
import { MAX_METADATA_BYTES } from "../../../base/file-limits.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { parseExactJson, parseJson } from "../json.ts";
import type { SourceFolder } from "../sources/source.ts";

/**
 * Reads a metadata file. Returns an empty object if the file is missing.
 * @param parse the JSON parser. `parseExactJson` preserves 64-bit integers such as seeds @throws RldsError CORRUPT if the file is too large or not a JSON
 * object
 */
export async function metadataOf(folder: SourceFolder, name: string, parse = parseJson): Promise<{ readonly [key: string]: unknown }> {
  const file = await folder.open(name).catch((error) => {
    if (error instanceof RldsError && error.code === "NOT_FOUND") return undefined;
    throw error;
  });
  if (file === undefined) return {};
  try {
    if (file.size > MAX_METADATA_BYTES) throw corruptFile({ file: name }, `the file has ${file.size} bytes, more than the maximum of ${MAX_METADATA_BYTES}`);
    return parseObject(new TextDecoder().decode(await file.read(0, file.size)), name, parse);
  } finally {
    await file.close();
  }
}

function parseObject(text: string, file: string, parse: (text: string) => unknown): { readonly [key: string]: unknown } {
  let about: unknown;
  try {
    about = parse(text);
  } catch (cause) {
    throw corruptFile({ file }, `the file is not JSON: ${(cause as Error).message}`, cause);
  }
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw corruptFile({ file }, "the file must contain a JSON object");
  return about as { readonly [key: string]: unknown };
}

/** Reads the metadata file of an episode, with exact integers. */
export function episodeMetadataOf(folder: SourceFolder, name: string): Promise<{ readonly [key: string]: unknown }> {
  return metadataOf(folder, name, parseExactJson);
}
