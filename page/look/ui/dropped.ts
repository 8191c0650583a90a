/** Lists the files dropped on the page, including those in folders. */
import type { GivenFile } from "../messages.ts";

/** @returns files whose paths begin with the dropped folder's name @throws DOMException if a file can no longer be read */
export async function droppedFiles(transfer: DataTransfer): Promise<GivenFile[]> {
  // The browser empties the list after this task. Items that are not on a disk have no entry.
  const items = Array.from(transfer.items, (item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const files: GivenFile[] = [];
  for (const { entry, file } of items) {
    if (entry !== null) await collect(entry, entry.name, files);
    else if (file !== null) files.push({ path: file.name, file });
  }
  return files;
}

async function collect(entry: FileSystemEntry, path: string, into: GivenFile[]): Promise<void> {
  if (entry.isFile) {
    into.push({ path, file: await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)) });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // The reader returns about a hundred entries at a time, and no entries at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const child of some) await collect(child, `${path}/${child.name}`, into);
  }
}
