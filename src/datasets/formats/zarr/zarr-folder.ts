/** Finds the arrays of a Zarr store, and reads the attributes of its groups. */
import { MAX_GROUP_DEPTH, MAX_METADATA_BYTES } from "../../../base/file-limits.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { parseExactJson } from "../json.ts";
import { openIfExists, type SourceFolder } from "../sources/source.ts";
import { ARRAY_2, EPISODE_ENDS, hasZarr, NO_EPISODE_ENDS, NODE_3, rootOf } from "./signs.ts";

type Values = { readonly [name: string]: unknown };

export interface ZarrFolder {
  readonly folder: SourceFolder;
  /** The path of the store in the folder, which is empty or ends with a slash. */
  readonly root: string;
  /** The paths of the arrays, relative to the root. */
  readonly paths: readonly string[];
  /** Returns the metadata of an array. @throws RldsError CORRUPT if the metadata is damaged · NOT_FOUND if it is missing */
  arrayJson(path: string): Promise<unknown>;
  /** Returns the attributes of the store. */
  attributes(): Promise<Values>;
}

/** Finds the store in a folder. @throws RldsError UNSUPPORTED if there is no store, if there are several stores, or if the arrays cannot be listed */
export async function zarrFolder(folder: SourceFolder): Promise<ZarrFolder> {
  const files = await folder.list();
  if (files === undefined) return consolidatedFolder(folder);
  const roots = [...new Set(files.flatMap((path) => rootOf(path) ?? []))];
  const [root] = roots;
  if (root === undefined) throw unsupportedFile({ file: folder.name }, noStore(files));
  if (roots.length > 1)
    throw unsupportedFile(
      { file: folder.name },
      `the folder has ${roots.length} datasets (${roots.slice(0, 4).join(", ")}${roots.length > 4 ? ", …" : ""}). Open one of them`,
    );
  const documents = new Map<string, Promise<unknown>>();
  const document = (path: string) => {
    const known = documents.get(path) ?? jsonOf(folder, path);
    documents.set(path, known);
    return known;
  };
  const is3 = files.includes(`${root}${EPISODE_ENDS}/${NODE_3}`);
  const name = is3 ? NODE_3 : ARRAY_2;
  const inStore = files.filter((path) => path.startsWith(root)).map((path) => path.slice(root.length));
  const below = inStore.filter((path) => path.endsWith(`/${name}`)).map((path) => path.slice(0, -name.length - 1));
  const paths: string[] = [];
  for (const path of below) {
    if (path.split("/").length > MAX_GROUP_DEPTH)
      throw unsupportedFile({ file: folder.name }, `groups are nested more than ${MAX_GROUP_DEPTH} levels deep at ${path}`);
    if (!is3 || ((await document(`${root}${path}/${name}`)) as Values | null)?.node_type === "array") paths.push(path);
  }
  return {
    folder,
    root,
    paths,
    arrayJson: (path) => document(`${root}${path}/${name}`),
    async attributes() {
      const path = `${root}${is3 ? NODE_3 : ".zattrs"}`;
      if (!files.includes(path)) return {};
      const value = valuesOf(await document(path));
      return is3 ? valuesOf(value.attributes) : value;
    },
  };
}

function noStore(files: readonly string[]): string {
  return hasZarr(files) ? NO_EPISODE_ENDS : `the folder has no ${EPISODE_ENDS}, so it is not a Zarr store of episodes`;
}

/** Opens a folder that cannot be listed, using its consolidated metadata. */
async function consolidatedFolder(folder: SourceFolder): Promise<ZarrFolder> {
  const file = { file: folder.name };
  const version2 = await jsonIfExists(folder, ".zmetadata");
  const version3 = version2 === undefined ? valuesOf(await jsonIfExists(folder, NODE_3)) : {};
  const metadata = valuesOf(version2 === undefined ? valuesOf(version3.consolidated_metadata).metadata : valuesOf(version2).metadata);
  const documents = new Map<string, unknown>();
  for (const [path, value] of Object.entries(metadata)) {
    if (version2 === undefined) {
      if (valuesOf(value).node_type === "array") documents.set(path, value);
    } else if (path.endsWith(`/${ARRAY_2}`)) documents.set(path.slice(0, -ARRAY_2.length - 1), value);
  }
  if (documents.size === 0)
    throw unsupportedFile(file, "a folder at a URL cannot be listed, and the Zarr store has no consolidated metadata. Run zarr.consolidate_metadata");
  if (!documents.has(EPISODE_ENDS)) throw unsupportedFile(file, noStore([NODE_3]));
  return {
    folder,
    root: "",
    paths: [...documents.keys()],
    async arrayJson(path) {
      return documents.get(path);
    },
    async attributes() {
      return valuesOf(version2 === undefined ? version3.attributes : metadata[".zattrs"]);
    },
  };
}

async function jsonOf(folder: SourceFolder, path: string): Promise<unknown> {
  const value = await jsonIfExists(folder, path);
  if (value === undefined) throw corruptFile({ file: path }, "the file is missing");
  return value;
}

async function jsonIfExists(folder: SourceFolder, path: string): Promise<unknown> {
  const file = await openIfExists(folder, path);
  if (file === undefined) return undefined;
  try {
    if (file.size > MAX_METADATA_BYTES)
      throw corruptFile({ file: path }, `the metadata has ${file.size} bytes, more than the maximum of ${MAX_METADATA_BYTES}`);
    return parseExactJson(new TextDecoder().decode(await file.read(0, file.size)));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw corruptFile({ file: path }, `the file is not JSON: ${cause.message}`, cause);
    throw cause;
  } finally {
    await file.close();
  }
}

function valuesOf(value: unknown): Values {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Values) : {};
}
