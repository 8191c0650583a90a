/** Where the files of a dataset are, for what the browser itself plays. */
import type { Given } from "../messages.ts";
import { fileAddress } from "../model/file-address.ts";

/** @returns the address of a file inside the dataset, which is good until the signal aborts; undefined where there is no such file */
export function addressOf(given: Given): (path: string, signal: AbortSignal) => string | undefined {
  if (given.kind === "url") return (path) => fileAddress(given.url, path);
  const files = new Map(given.files.map(({ path, file }) => [path, file]));
  return (path, signal) => {
    const file = files.get(path);
    if (file === undefined) return undefined;
    const address = URL.createObjectURL(file);
    signal.addEventListener("abort", () => URL.revokeObjectURL(address));
    return address;
  };
}
