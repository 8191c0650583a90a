/** Makes addresses of the files of a dataset, for the browser's own players. */
import type { Given } from "../messages.ts";
import { fileAddress } from "../model/file-address.ts";

/** @returns the address of a file inside the dataset, valid until the signal aborts; undefined if there is no such file */
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
