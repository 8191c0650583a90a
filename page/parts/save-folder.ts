/** Saves a generated folder to a folder that the user picks, or as a zip download. */
import { Zip } from "fflate";
import { MAX_ZIP, zipEntry } from "./zip-entry.ts";

/** A folder picked by the user, or files by path. The writers of `reprise/rlds` accept both as sinks, even in a worker. */
export type Destination = FileSystemDirectoryHandle | Map<string, Uint8Array>;

type Picker = (options: { id: string; mode: "readwrite" }) => Promise<FileSystemDirectoryHandle>;

/** The time after the click during which a browser may still request the bytes of a download, in milliseconds. */
export const HANDED_OVER_MS = 60_000;

/** Returns a name that is valid in any file system. */
export function fileName(name: string): string {
  return name.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "") || "dataset";
}

const picker = () => (globalThis as { showDirectoryPicker?: Picker }).showDirectoryPicker;

/** Whether this browser can write to a folder of the user's file system. */
export const picksFolders = (): boolean => typeof picker() === "function";

/**
 * Opens the folder picker, which browsers allow only while a click is handled. Returns undefined if the user cancelled. @throws Error if the browser rejects
 * the request
 */
export async function pickFolder(): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    return await picker()?.({ id: "reprise", mode: "readwrite" });
  } catch (error) {
    if ((error as Error).name === "AbortError") return undefined;
    throw error;
  }
}

/** Returns the files as a zip, below a folder of the given name, uncompressed. @throws RangeError beyond 4 GiB */
export function zipOf(files: ReadonlyMap<string, Uint8Array>, folder: string): Blob {
  const total = [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);
  if (total > MAX_ZIP) throw new RangeError(`a zip file is limited to 4 GiB, but the files need ${total} bytes. Save to a folder, or save fewer episodes`);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const zip = new Zip((error, chunk) => {
    if (error) throw error;
    parts.push(chunk as Uint8Array<ArrayBuffer>);
  });
  for (const [path, bytes] of files) {
    const file = zipEntry(`${folder}/${path}`, false);
    zip.add(file);
    file.push(bytes, true);
  }
  zip.end();
  return new Blob(parts, { type: "application/zip" });
}

/** Starts a download in the browser. */
export function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), HANDED_OVER_MS);
}
