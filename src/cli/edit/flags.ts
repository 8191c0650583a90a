/** Reads the numbers of flagged episodes from a JSON file that the Look room of the page saves. */
import { readFile } from "node:fs/promises";
import { RldsError } from "../../datasets/rlds/index.ts";
import { parseJson } from "../program-parts.ts";

export interface Flags {
  /** The numbers of the flagged episodes. */
  readonly flagged: readonly number[];
}

/**
 * Reads a file of flags.
 * @throws RldsError NOT_FOUND if the file does not exist
 * @throws RldsError IO if the file cannot be read
 * @throws RldsError CORRUPT if the file does not contain flags
 */
export async function flagsOf(path: string): Promise<Flags> {
  const text = await readFile(path, "utf8").catch((cause: { readonly code?: string; readonly message: string }) => {
    throw new RldsError(cause.code === "ENOENT" ? "NOT_FOUND" : "IO", `the flags cannot be read: ${cause.message}`, { file: path }, { cause });
  });
  const { flagged } = objectOf(text);
  if (!Array.isArray(flagged) || !flagged.every((number) => Number.isSafeInteger(number) && number >= 0))
    throw new RldsError(
      "CORRUPT",
      'the file must contain a list of episode numbers, such as {"flagged": [3, 12]}. Pass a file saved with "Save the flags" in the page\'s Look room',
      {
        file: path,
      },
    );
  return { flagged };
}

function objectOf(text: string): { readonly flagged?: unknown } {
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
