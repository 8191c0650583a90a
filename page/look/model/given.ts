/** Converts chosen, dropped or named inputs for the worker. */
import type { Given, GivenFile, ListedFile } from "../messages.ts";

/** Matches the files that operating systems leave in folders next to the data. */
const ASIDE = /(^|\/)(\.|__MACOSX\/|Thumbs\.db$|desktop\.ini$)/;
const LEROBOT = "meta/info.json";

/** Returns undefined if there are no files. @param files the files with their original paths; the paths of a folder's files begin with the folder's name */
export function givenFiles(files: readonly GivenFile[]): Given | undefined {
  const seen = files.filter(({ path }) => !ASIDE.test(path));
  const [first] = seen;
  if (first === undefined) return undefined;
  if (seen.length === 1 && !first.path.includes("/")) return { kind: "files", name: first.path, files: seen };
  const [top = ""] = first.path.split("/");
  const inTop = seen.every(({ path }) => path.startsWith(`${top}/`));
  const root = inTop ? `${top}/` : "";
  // The paths in a LeRobot dataset are relative to the folder of the dataset.
  const info = seen.find(({ path }) => path.endsWith(`/${LEROBOT}`))?.path.slice(0, -LEROBOT.length);
  const from = info ?? root;
  const inside = seen.filter(({ path }) => path.startsWith(from)).map(({ path, file }) => ({ path: path.slice(from.length), file }));
  return { kind: "files", name: from.replace(/\/$/, "").split("/").at(-1) || "files", files: inside };
}

/** Converts the files of `<input type="file">`. */
export function chosenFiles(files: Iterable<File>): GivenFile[] {
  return Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** @param base the base of relative addresses @throws TypeError if the text is not a web address */
export function givenUrl(text: string, base: string): Given {
  const trimmed = text.trim();
  const url = trimmed === "" ? undefined : urlOf(trimmed, base);
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError(`an address must begin with https:// or http://, got ${JSON.stringify(text)}`);
  return { kind: "url", url: url.href };
}

/** Returns undefined for an invalid address. This function avoids `URL.canParse`, which some supported browsers lack. */
export function urlOf(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** Validates the file list of `serve-page`; undefined for anything else. */
export function listedFiles(found: unknown): ListedFile[] | undefined {
  const isListed = (one: unknown): one is ListedFile =>
    typeof (one as ListedFile)?.path === "string" && Number.isSafeInteger((one as ListedFile).size) && (one as ListedFile).size >= 0;
  return Array.isArray(found) && found.every(isListed) ? found.map(({ path, size }) => ({ path, size })) : undefined;
}
