/** Writes files to memory. */
import { locksOf } from "./locks.ts";
import type { SinkFolder } from "./sink-folder.ts";

/** Returns a folder in memory. A file is added to the map when it is closed. */
export function memoryFolder(files: Map<string, Uint8Array>): SinkFolder {
  return {
    name: "memory",
    lock: locksOf(files, "memory"),
    async list(folder) {
      const start = folder === "" ? "" : `${folder}/`;
      return [...files.keys()].filter((path) => path.startsWith(start) && !path.slice(start.length).includes("/")).sort();
    },
    async read(path) {
      return files.get(path) as Uint8Array;
    },
    async create(path) {
      let bytes = new Uint8Array(1024);
      let length = 0;
      return {
        async write(more) {
          if (length + more.length > bytes.length) {
            const larger = new Uint8Array(Math.max(2 * bytes.length, length + more.length));
            larger.set(bytes.subarray(0, length));
            bytes = larger;
          }
          bytes.set(more, length);
          length += more.length;
        },
        async close() {
          files.set(path, bytes.slice(0, length));
        },
      };
    },
    async rename(from, to) {
      files.set(to, files.get(from) as Uint8Array);
      files.delete(from);
    },
    async remove(path) {
      files.delete(path);
    },
  };
}
