/** What a request asks for: a path and a range, both checked. */

/** The decoded parts of a path; undefined for what is none. An end that is a slash is no part. */
export function segmentsOf(url: string): string[] | undefined {
  const [path = ""] = url.split(/[?#]/, 1);
  if (!path.startsWith("/")) return undefined;
  const parts = path.slice(1).split("/");
  if (parts.at(-1) === "") parts.pop();
  try {
    const decoded = parts.map(decodeURIComponent);
    return decoded.every(isName) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** What readers take for a name: nothing that leads elsewhere on any system, such as a backslash or a drive. */
function isName(part: string): boolean {
  return part !== "" && part !== "." && part !== ".." && !/[/\\\0]|^[a-z]:/i.test(part);
}

/** No hidden file or folder is given, such as .git or .env, whatever the folder has, and nothing that has no name for a reader. */
export function isServable(segments: readonly string[]): boolean {
  return segments.length > 0 && segments.every((segment) => isName(segment) && !segment.startsWith("."));
}

/** What browsers call a server of this machine that listens on a port: 80 is left out. */
export function hostsOf(port: number): string[] {
  return ["127.0.0.1", "localhost"].flatMap((host) => (port === 80 ? [host, `${host}:80`] : [`${host}:${port}`]));
}

/** Bytes from … to - 1 of a Range header. Undefined where the whole file is asked for, also by what this server does not know; "none" for bytes that are not there. */
export function byteRange(header: string | undefined, size: number): { readonly from: number; readonly to: number } | "none" | undefined {
  const [found, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (found === undefined || (first === "" && last === "")) return undefined;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === "" || last === "" ? size : Math.min(Number(last) + 1, size);
  return from < to ? { from, to } : "none";
}
