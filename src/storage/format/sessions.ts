/**
 * Sessions of remote writers that confirm what is on the disk, as tagged values: SESSIONS, id: places >>> 4 │ an array of 16 of
 *   undefined, or object { session: text, name: text, lanes: number, number, calls, slots: numbers, steps: number, isOver: boolean }
 * They stand in the same group as the steps that they count: `number` blocks are there, and of the next one so many calls and slots (remote/appender.ts).
 */
import { SESSIONS } from "../../base/kinds.ts";
import type { Section } from "../../memory/state.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";

export interface SessionRecord {
  /** The secret of the writer's end. */
  readonly session: string;
  /** Of its writer. */
  readonly name: string;
  readonly lanes: number;
  /** Blocks that are in the memory, and how much of the next one. */
  readonly number: number;
  readonly calls: number;
  readonly slots: number;
  readonly steps: number;
  /** Whether the actor has said goodbye. */
  readonly isOver: boolean;
}

const BITS = 4;
const SIZE = 1 << BITS;

export class SessionRecords {
  /** By place: what makes a record. */
  readonly #entries: ((() => SessionRecord) | undefined)[] = [];
  /** By section; undefined where a record has changed. */
  readonly #sections: (Uint8Array | undefined)[] = [];
  /** Those of an earlier run that nobody has gone on with, and their places. */
  readonly earlier = new Map<SessionRecord, number>();

  /** Keeps a record, as `make` says it whenever something is written: its place. */
  add(make: () => SessionRecord): number {
    const free = this.#entries.indexOf(undefined);
    const place = free < 0 ? this.#entries.length : free;
    this.put(place, make);
    return place;
  }

  /** Keeps a record at a place. */
  put(place: number, make: (() => SessionRecord) | undefined): void {
    this.#entries[place] = make;
    this.touch(place);
  }

  /** The record has changed. */
  touch(place: number): void {
    this.#sections[place >>> BITS] = undefined;
  }

  /** All sections, each the same bytes as long as nothing has changed. */
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

  /** Takes a section of an earlier run; whether it is one. */
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
