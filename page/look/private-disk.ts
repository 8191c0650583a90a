/** The browser's private disk, where exports stand until they are handed over: the worker writes them there, the page removes them. */
import { HANDED_OVER_MS } from "../parts/save-folder.ts";

const FOLDER = "look-exports";

const lockOf = (name: string) => `${FOLDER}/${name.replace(/\.zip$/, "")}`;

/** The folder of exports; undefined where the browser has no such disk, or gives none in a private window. @param create whether to make it */
export async function exportsFolder(create = false): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    const disk = await navigator.storage.getDirectory();
    return await disk.getDirectoryHandle(FOLDER, { create });
  } catch {
    return undefined;
  }
}

/** As long as it is held, and its holder lives, no page takes the files of an export for what was left behind. @returns lets it go */
export function hold(name: string): Promise<() => void> {
  return new Promise((resolve) => {
    void navigator.locks.request(lockOf(name), { mode: "shared" }, () => new Promise<void>((letGo) => resolve(letGo)));
  });
}

/** Removes what pages have left behind that are gone. */
export async function removeLeft(): Promise<void> {
  const folder = await exportsFolder();
  for await (const name of folder?.keys() ?? []) {
    await navigator.locks.request(lockOf(name), { ifAvailable: true }, async (lock) => {
      if (lock !== null) await folder?.removeEntry(name, { recursive: true }).catch(() => undefined);
    });
  }
}

/** A zip that a person may ask for. @returns takes it back: once a download that has begun has its bytes, the zip is removed */
export function offer(name: string): () => void {
  const held = hold(name);
  const remove = async (): Promise<void> => {
    try {
      await (await exportsFolder())?.removeEntry(name);
    } catch (error) {
      // Some systems remove no file that is being read.
      if ((error as Error).name === "NoModificationAllowedError") return takeBack();
    }
    (await held)();
  };
  const takeBack = () => void setTimeout(remove, HANDED_OVER_MS);
  return takeBack;
}
