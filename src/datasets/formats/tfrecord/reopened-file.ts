/** Reads files that are open only while a block is read, so thousands of files can be interleaved. */
import { RldsError } from "../../model/rlds-error.ts";
import type { SourceFile } from "../sources/source.ts";
import type { OpenFile } from "./files.ts";

/** Limits the number of concurrent tasks. Further tasks wait for their turn. */
export class Turns {
  #left: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#left = count;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#left > 0) this.#left--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#left++;
      else next();
    }
  }
}

/** Returns a file that each read opens and closes. @param turns limits the number of open files @throws RldsError IO from a read if the size has changed */
export async function reopenedFile(path: string, open: OpenFile, turns: Turns): Promise<SourceFile> {
  const withFile = <T>(task: (file: SourceFile) => Promise<T>) =>
    turns.run(async () => {
      const file = await open(path);
      try {
        return await task(file);
      } finally {
        await file.close();
      }
    });
  const { name, size } = await withFile(async (file) => file);
  return {
    name,
    size,
    read: (at, length) =>
      withFile(async (file) => {
        if (file.size !== size)
          throw new RldsError("IO", `the file changed while it was being read: it had ${size} bytes, and now has ${file.size}`, { file: name });
        return file.read(at, length);
      }),
    async close() {},
  };
}
