/** The files that were dropped on the page, those in folders too. */
import type { GivenFile } from "../messages.ts";

/** @returns their paths begin with the dropped folder's name @throws DOMException where a file cannot be read any more */
export async function droppedFiles(transfer: DataTransfer): Promise<GivenFile[]> {
  // The list is empty once this task is over. What is on no disk has no entry.
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
  // It gives about a hundred at a time, and none when it is done.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const child of some) await collect(child, `${path}/${child.name}`, into);
  }
}
