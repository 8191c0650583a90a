/** Reads the additional arrays that writeNpz writes, which are a mark that identifies its archives and the metadata of episodes. */
import { isText } from "../../../schema/leaf.ts";
import { FINAL_STEP } from "../../model/final-step.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { STEP_FIELDS } from "../../model/step-fields.ts";
import { type About, nestedAbout } from "../about.ts";
import { Column } from "../columns/column.ts";
import type { Field } from "../columns/names.ts";
import { parseJson } from "../json.ts";

/** The name of the array whose string describes the archive. */
export const MARK = "reprise";
export const VERSION = 1;
/** The prefix of the arrays with one value per episode. */
export const EPISODE = "episode/";

/** Returns whether an array is required for reading the other arrays. No option can omit such an array. */
export function isOwnName(names: readonly string[]): boolean {
  return names.join("/") === MARK || names.join("/") === EPISODE + FINAL_STEP;
}

const FIELDS: readonly string[] = [...STEP_FIELDS, "lengths"];

/** Returns the fields of a Reprise archive, which has RLDS names. All other names are metadata of a step. */
export function ownFieldsOf(names: readonly string[]): ReadonlyMap<string, Field> {
  return new Map(names.filter((name) => FIELDS.includes(name)).map((name) => [name, name as Field]));
}

export interface OwnArchive {
  readonly about: About;
  /** The columns with the metadata of episodes. */
  readonly metadata: readonly Column[];
}

/**
 * Removes the additional arrays from the columns and returns their content. Returns undefined if another program wrote the archive.
 * @throws RldsError CORRUPT if the version of the archive is unknown
 */
export async function ownArchive(columns: Map<string, Column>, file: string): Promise<OwnArchive | undefined> {
  const mark = columns.get(MARK);
  if (mark === undefined || mark.rows !== undefined || !isText(mark.leaf)) return undefined;
  let description: unknown;
  try {
    description = parseJson(String((await mark.read(0, 1))[0]));
  } catch {
    return undefined;
  }
  const { version, about } = nestedAbout(description);
  if (version === undefined) return undefined;
  if (version !== VERSION)
    throw corruptFile({ file }, `the array ${MARK} has version ${JSON.stringify(version)}, but this version of Reprise reads only version ${VERSION}`);
  columns.delete(MARK);
  const metadata: Column[] = [];
  for (const [path, column] of [...columns]) {
    if (!path.startsWith(EPISODE)) continue;
    columns.delete(path);
    metadata.push(new Column({ ...column, path: path.slice(EPISODE.length) }));
  }
  return { about: nestedAbout(about), metadata };
}
