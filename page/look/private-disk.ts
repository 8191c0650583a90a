/** Stores exports on the browser's private disk until they are downloaded. The worker writes the exports, and the page removes them. */
import { HANDED_OVER_MS } from "../parts/save-folder.ts";

const FOLDER = "look-exports";

const lockOf = (name: string) => `${FOLDER}/${name.replace(/\.zip$/, "")}`;

/** Returns the folder of exports; undefined if the browser has no such disk, or denies it in a private window. @param create whether to create the folder */
export async function exportsFolder(create = false): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    const disk = await navigator.storage.getDirectory();
    return await disk.getDirectoryHandle(FOLDER, { create });
  } catch {
    return undefined;
  }
}

/** Holds an export. While the holder lives, no page treats the export's files as leftovers. @returns a function that releases the export */
export function hold(name: string): Promise<() => void> {
  return new Promise((resolve) => {
    void navigator.locks.request(lockOf(name), { mode: "shared" }, () => new Promise<void>((letGo) => resolve(letGo)));
  });
}

/** Removes the exports that closed pages left behind. */
export async function removeLeft(): Promise<void> {
  const folder = await exportsFolder();
  for await (const name of folder?.keys() ?? []) {
    await navigator.locks.request(lockOf(name), { ifAvailable: true }, async (lock) => {
      if (lock !== null) await folder?.removeEntry(name, { recursive: true }).catch(() => undefined);
    });
  }
}

/** Offers a zip for download. @returns a function that withdraws the offer. The zip is removed later, so that a running download can still read its bytes */
export function offer(name: string): () => void {
  const held = hold(name);
  const remove = async (): Promise<void> => {
    try {
      await (await exportsFolder())?.removeEntry(name);
    } catch (error) {
      // Some systems cannot remove a file that is being read.
      if ((error as Error).name === "NoModificationAllowedError") return takeBack();
    }
    (await held)();
  };
  const takeBack = () => void setTimeout(remove, HANDED_OVER_MS);
  return takeBack;
}
