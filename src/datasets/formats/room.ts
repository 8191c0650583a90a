/** The memory that a file may take, counted before it is taken. */
import { RldsError } from "../model/rlds-error.ts";

export class Room {
  readonly #file: string;
  readonly #maxBytes: number;
  #taken = 0;

  constructor(file: string, maxBytes: number) {
    this.#file = file;
    this.#maxBytes = maxBytes;
  }

  /** @param what takes them, as a message calls it @throws RldsError CORRUPT */
  take(bytes: number, what: string): void {
    const all = this.#taken + bytes;
    if (!(all <= this.#maxBytes))
      throw new RldsError("CORRUPT", `with ${what} the file would take ${all} bytes in memory, more than the ${this.#maxBytes} that maxBytes allows`, {
        file: this.#file,
      });
    this.#taken = all;
  }
}
