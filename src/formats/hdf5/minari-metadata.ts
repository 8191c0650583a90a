/** What Minari says of a dataset in the file beside it. */
import { RldsError } from "../../rlds/dataset/rlds-error.ts";
import { parsedJson } from "../json.ts";
import type { SourceFolder } from "../sources/source.ts";

/** More is no description. */
const MAX_BYTES = 2 ** 26;

/** @param path of the HDF5 file @throws RldsError CORRUPT, UNSUPPORTED for a dataset that is not HDF5; an absent file is none */
export async function metadataJson(folder: SourceFolder, path: string): Promise<{ readonly [key: string]: unknown }> {
  const name = `${path.slice(0, path.lastIndexOf("/") + 1)}metadata.json`;
  const file = await folder.open(name).catch((error) => {
    if (error instanceof RldsError && error.code === "NOT_FOUND") return undefined;
    throw error;
  });
  if (file === undefined) return {};
  try {
    if (file.size > MAX_BYTES) throw new RldsError("CORRUPT", `metadata takes at most ${MAX_BYTES} bytes, this file ${file.size}`, { file: name });
    return parsed(new TextDecoder().decode(await file.read(0, file.size)), name);
  } finally {
    await file.close();
  }
}

function parsed(text: string, file: string): { readonly [key: string]: unknown } {
  let about: unknown;
  try {
    about = parsedJson(text);
  } catch (cause) {
    throw new RldsError("CORRUPT", `the file is not JSON: ${(cause as Error).message}`, { file }, { cause });
  }
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw new RldsError("CORRUPT", "the file must hold a JSON object", { file });
  const { data_format: format = "hdf5" } = about as { data_format?: unknown };
  if (format !== "hdf5") throw new RldsError("UNSUPPORTED", `the dataset's format is ${JSON.stringify(format)}: only Minari's hdf5 is read`, { file });
  return about as { readonly [key: string]: unknown };
}
