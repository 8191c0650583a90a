/** What writeNpz writes beside the arrays of steps: a mark, by which its archives are known, and the metadata of episodes. */
import { isText } from "../../../schema/leaf.ts";
import { FINAL_STEP } from "../../model/final-step.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import { STEP_FIELDS } from "../../model/step-fields.ts";
import { type About, nestedAbout } from "../about.ts";
import { Column } from "../columns/column.ts";
import type { Field } from "../columns/names.ts";
import { parseJson } from "../json.ts";

/** The array whose text describes the archive. */
export const MARK = "reprise";
export const VERSION = 1;
/** The group of arrays with a value per episode. */
export const EPISODE = "episode/";

/** Names that an option of columns does not leave out: what tells how to read the others. */
export function isOwnName(names: readonly string[]): boolean {
  return names.join("/") === MARK || names.join("/") === EPISODE + FINAL_STEP;
}

const FIELDS: readonly string[] = [...STEP_FIELDS, "lengths"];

/** The fields of an archive of ours, which has RLDS's names: any other name is metadata of a step. */
export function ownFieldsOf(names: readonly string[]): ReadonlyMap<string, Field> {
  return new Map(names.filter((name) => FIELDS.includes(name)).map((name) => [name, name as Field]));
}

export interface OwnArchive {
  readonly about: About;
  /** Metadata of episodes, by their names. */
  readonly metadata: readonly Column[];
}

/** Takes what is ours from the arrays of an archive; undefined if another program has written it. @throws RldsError CORRUPT */
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
  if (version !== VERSION) throw corruptFile({ file, subject: MARK }, `is of version ${JSON.stringify(version)}: ${VERSION} is read`);
  columns.delete(MARK);
  const metadata: Column[] = [];
  for (const [path, column] of [...columns]) {
    if (!path.startsWith(EPISODE)) continue;
    columns.delete(path);
    metadata.push(new Column({ ...column, path: path.slice(EPISODE.length) }));
  }
  return { about: nestedAbout(about), metadata };
}
