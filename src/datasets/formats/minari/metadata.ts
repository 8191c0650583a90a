/** What Minari says of a dataset, or of an episode, in metadata.json. */
import { MAX_METADATA_BYTES } from "../../../base/file-limits.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import { parseJson } from "../json.ts";
import type { SourceFolder } from "../sources/source.ts";

/** @throws RldsError CORRUPT; an absent file is none */
export async function metadataOf(folder: SourceFolder, name: string): Promise<{ readonly [key: string]: unknown }> {
  const file = await folder.open(name).catch((error) => {
    if (error instanceof RldsError && error.code === "NOT_FOUND") return undefined;
    throw error;
  });
  if (file === undefined) return {};
  try {
    if (file.size > MAX_METADATA_BYTES) throw corruptFile({ file: name }, `metadata takes at most ${MAX_METADATA_BYTES} bytes, this file ${file.size}`);
    return parseObject(new TextDecoder().decode(await file.read(0, file.size)), name);
  } finally {
    await file.close();
  }
}

function parseObject(text: string, file: string): { readonly [key: string]: unknown } {
  let about: unknown;
  try {
    about = parseJson(text);
  } catch (cause) {
    throw corruptFile({ file }, `the file is not JSON: ${(cause as Error).message}`, cause);
  }
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw corruptFile({ file }, "the file must hold a JSON object");
  return about as { readonly [key: string]: unknown };
}
