/** Limits the memory that a file may take. Memory is reserved before it is allocated. */
import { corruptFile } from "../model/rlds-error.ts";

export class MemoryBudget {
  readonly #file: string;
  readonly #maxBytes: number;
  #used = 0;

  constructor(file: string, maxBytes: number) {
    this.#file = file;
    this.#maxBytes = maxBytes;
  }

  /** Reserves memory. @param purpose the data that takes the memory, for messages @throws RldsError CORRUPT if the total exceeds maxBytes */
  reserve(bytes: number, purpose: string): void {
    const all = this.#used + bytes;
    if (!(all <= this.#maxBytes))
      throw corruptFile(
        { file: this.#file },
        `the file needs ${all} bytes in memory, including ${purpose}, more than the ${this.#maxBytes} that maxBytes allows. Increase maxBytes`,
      );
    this.#used = all;
  }
}
