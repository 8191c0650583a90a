/**
 * Detects sources that are not a dataset but are close to one: archives, parent and child folders, and files that describe a dataset. The error states what to
 * open instead.
 */
import { unsupportedFile } from "../model/rlds-error.ts";
import { parseJson } from "./json.ts";
import { type FormatSign, isNamed, NAMES } from "./signs.ts";
import type { SourceFile } from "./sources/source.ts";
import { hasZarr, NO_EPISODE_ENDS } from "./zarr/signs.ts";

/** Checks the paths in a folder. @throws RldsError UNSUPPORTED if the folder is the parent or a child of a dataset's folder */
export function checkParent(file: string, paths: readonly string[]): void {
  if (hasZarr(paths) && !paths.some((path) => NAMES.some(([name]) => isNamed(path, name)))) throw unsupportedFile({ file }, NO_EPISODE_ENDS);
  const roots = new Map<string, Set<FormatSign>>();
  for (const path of paths)
    for (const [name, format] of NAMES) {
      if (!isNamed(path, name)) continue;
      const root = path
        .slice(0, -name.length)
        .replace(/(^|\/)data\/$/, "")
        .replace(/\/$/, "");
      roots.set(root, new Set([...(roots.get(root) ?? []), format]));
    }
  if (roots.has("")) return;
  if (paths.includes("info.json") && paths.some((path) => /^(tasks|episodes|stats)[./]/.test(path)))
    throw unsupportedFile({ file }, "the folder is the meta folder of a LeRobot dataset. Open its parent folder");
  const formats = new Set([...roots.values()].flatMap((found) => [...found]));
  // Unless LeRobot is among the formats, a single dataset or format is left to its reader, which opens it or reports the fault.
  if (roots.size === 0 || (!formats.has("lerobot") && (roots.size === 1 || formats.size === 1))) return;
  const names = [...roots.keys()].sort();
  const what =
    names.length === 1
      ? `the dataset is in the folder ${names[0]}. Open that folder`
      : `the folder has ${names.length} datasets (${names.slice(0, 4).join(", ")}${names.length > 4 ? ", …" : ""}). Open one of them`;
  throw unsupportedFile({ file }, what);
}

/** The first bytes of archives and compressed files. */
const ARCHIVES: readonly (readonly [bytes: string, name: string])[] = [
  ["\x1f\x8b", "gzip"],
  ["\x28\xb5\x2f\xfd", "Zstandard"],
  ["BZh", "bzip2"],
  ["\xfd7zXZ\0", "xz"],
  ["7z\xbc\xaf\x27\x1c", "7z"],
  ["Rar!", "RAR"],
];
const TAR_AT = 257;

/** Checks that a file is not an archive or a compressed file. @throws RldsError UNSUPPORTED if it is */
export async function checkArchive(file: SourceFile, text: string): Promise<void> {
  const hasTar = file.size >= TAR_AT + 5 && String.fromCharCode(...(await file.read(TAR_AT, 5))) === "ustar";
  const name = ARCHIVES.find(([begin]) => text.startsWith(begin))?.[1] ?? (hasTar ? "tar" : undefined);
  if (name === undefined) return;
  const what = name === "tar" || name === "7z" || name === "RAR" ? `a ${name} archive` : `compressed with ${name}`;
  throw unsupportedFile({ file: file.name }, `the file is ${what}. Unpack it, and open the resulting file or folder`);
}

/** The keys of files that describe a dataset but do not contain its data. Such a file is a JSON object with these keys. */
const DESCRIPTIONS: readonly (readonly [keys: readonly string[], dataset: string, folder: string])[] = [
  [["codebase_version"], "LeRobot", "the folder that contains meta/info.json"],
  [["pythonClassName", "fileFormat"], "tensorflow_datasets", "the folder that contains features.json"],
  [["minari_version", "data_format"], "Minari", "the folder of the dataset, which contains data/metadata.json"],
];
/** The keys of rows and episodes. A file with one of these keys contains data, even if it also has keys of DESCRIPTIONS. */
const ROW_KEYS = ["rlds", "steps", "obs", "observation", "observations", "action", "actions"];
const DESCRIPTION_BYTES = 1 << 20;

/** Checks that a file is not a description of a dataset. @throws RldsError UNSUPPORTED if it is one */
export async function checkDescription(file: SourceFile): Promise<void> {
  if (file.size > DESCRIPTION_BYTES) return;
  let value: unknown;
  try {
    value = parseJson(new TextDecoder().decode(await file.read(0, file.size)));
  } catch {
    // The file is either JSON lines, or not JSON, which its reader reports.
    return;
  }
  const found = typeof value === "object" && value !== null ? Object.keys(value) : [];
  if (ROW_KEYS.some((key) => found.includes(key))) return;
  const [, dataset, folder] = DESCRIPTIONS.find(([keys]) => keys.some((key) => found.includes(key))) ?? [];
  if (dataset !== undefined) throw unsupportedFile({ file: file.name }, `the file belongs to a ${dataset} dataset. Open ${folder}`);
}
