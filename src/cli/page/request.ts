/** Parses and checks the path and the range of a request. */

/** Returns the decoded parts of the path in a request URL, without the query. Returns undefined if the path is invalid. A trailing slash adds no part. */
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

/**
 * Returns whether a part of a path is a plain file name on every system: not empty, not `.` or `..`, and without slashes, backslashes, NUL and drive letters.
 */
function isName(part: string): boolean {
  return part !== "" && part !== "." && part !== ".." && !/[/\\\0]|^[a-z]:/i.test(part);
}

/** Returns whether a path may be served. Hidden files and folders, such as .git or .env, and invalid names are never served. */
export function isServable(segments: readonly string[]): boolean {
  return segments.length > 0 && segments.every((segment) => isName(segment) && !segment.startsWith("."));
}

/** Returns the valid Host headers of this server on a port. Browsers omit port 80. */
export function hostsOf(port: number): string[] {
  return ["127.0.0.1", "localhost"].flatMap((host) => (port === 80 ? [host, `${host}:80`] : [`${host}:${port}`]));
}

/**
 * Returns the bytes that a Range header requests, from `from` up to, but not including, `to`. Returns "none" if the range contains no bytes of the file.
 * Returns undefined if the header is missing or unsupported, so the whole file is sent.
 */
export function byteRange(header: string | undefined, size: number): { readonly from: number; readonly to: number } | "none" | undefined {
  const [found, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (found === undefined || (first === "" && last === "")) return undefined;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === "" || last === "" ? size : Math.min(Number(last) + 1, size);
  return from < to ? { from, to } : "none";
}
