/**
 * Saves sessions of remote writers with `confirm: "disk"`, as tagged values: SESSIONS, id: places >>> 4 │ an array of 16 of
 *   undefined, or object { session: text, name: text, lanes: number, number, calls, slots: numbers, steps: number, isOver: boolean }
 * Sessions are in the same group as the steps that they count: `number` complete blocks, and `calls` and `slots` of the next block (remote/appender.ts).
 */
import { SESSIONS } from "../../base/kinds.ts";
import type { Section } from "../../memory/state.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";

export interface SessionRecord {
  /** The secret with which the actor identifies its session. */
  readonly session: string;
  /** The name of the session's writer. */
  readonly name: string;
  readonly lanes: number;
  /** The number of complete blocks in memory. `calls` and `slots` are the progress in the next block. */
  readonly number: number;
  readonly calls: number;
  readonly slots: number;
  readonly steps: number;
  /** Whether the actor has sent its goodbye. */
  readonly isOver: boolean;
}

const BITS = 4;
const SIZE = 1 << BITS;

export class SessionRecords {
  /** The functions that create the records, by place. Undefined for a free place. */
  readonly #entries: ((() => SessionRecord) | undefined)[] = [];
  /** The encoded sections; undefined if a record of the section has changed. */
  readonly #sections: (Uint8Array | undefined)[] = [];
  /** The sessions of an earlier run that are not continued yet, with the places of their records. */
  readonly earlier = new Map<SessionRecord, number>();

  /** Adds a record, which `make` creates for each write. Returns its place. */
  add(make: () => SessionRecord): number {
    const free = this.#entries.indexOf(undefined);
    const place = free < 0 ? this.#entries.length : free;
    this.put(place, make);
    return place;
  }

  /** Sets the function that creates the record at a place. Undefined frees the place. */
  put(place: number, make: (() => SessionRecord) | undefined): void {
    this.#entries[place] = make;
    this.touch(place);
  }

  /** Marks a record as changed. */
  touch(place: number): void {
    this.#sections[place >>> BITS] = undefined;
  }

  /** Yields all sections; unchanged sections have identical bytes. */
  *sections(): Generator<Section, void> {
    for (let id = 0; id < this.#entries.length; id += SIZE) {
      const at = id >>> BITS;
      this.#sections[at] ??= encodeTagged(
        Array.from({ length: SIZE }, (_, i) => this.#entries[id + i]?.()),
        "sessions",
      );
      yield [SESSIONS, at, this.#sections[at] as Uint8Array];
    }
  }

  /** Reads a section of an earlier run if it is a section of sessions. Returns whether it is. */
  take(kind: number, id: number, payload: Uint8Array): boolean {
    if (kind !== SESSIONS) return false;
    const records = decodeTagged(payload.slice()) as readonly (SessionRecord | undefined)[];
    for (const [record, place] of this.earlier) if (place >>> BITS === id) this.earlier.delete(record);
    for (let i = 0; i < SIZE; i++) {
      const place = (id << BITS) + i;
      const record = records[i];
      while (this.#entries.length <= place) this.#entries.push(undefined);
      this.put(place, record === undefined ? undefined : () => record);
      if (record !== undefined) this.earlier.set(record, place);
    }
    return true;
  }
}
