/** Keeps the column layouts in a journal. A section is written when it has changed, and again when its segment is emptied. */
import type { Section } from "../../memory/state.ts";
import { layoutSections } from "../format/writers.ts";
import type { ReplayState } from "../replay-state.ts";

export class Layouts {
  readonly #replayState: ReplayState;
  /** The newest section of each id, and the segment of that section. */
  readonly #sections = new Map<number, { readonly segment: number; readonly payload: Uint8Array }>();
  /** The number of bytes of the newest sections, by segment. */
  readonly #liveBytes = new Map<number, number>();

  constructor(replayState: ReplayState) {
    this.#replayState = replayState;
  }

  /** Returns the number of live bytes in a segment. */
  liveIn(segment: number): number {
    return this.#liveBytes.get(segment) ?? 0;
  }

  /** Writes changed sections to a segment. O(layouts / 64) */
  write(segment: number, write: (...section: Section) => void): void {
    const { chunks } = this.#replayState.engine.columnLayouts;
    for (const section of layoutSections(this.#replayState)) {
      const [, id, payload] = section;
      if (this.#sections.get(id)?.payload === payload) continue;
      this.#forget(id);
      this.#sections.set(id, { segment, payload });
      this.#count(segment, payload.length);
      write(...section);
    }
    if (this.#sections.size > chunks.size) for (const id of this.#sections.keys()) if (!chunks.has(id)) this.#forget(id);
  }

  /** Marks the live sections of a segment to be written again. */
  empty(segment: number): void {
    if (this.liveIn(segment) === 0) return;
    for (const [id, section] of this.#sections) if (section.segment === segment) this.#forget(id);
  }

  #forget(id: number): void {
    const section = this.#sections.get(id);
    if (section === undefined) return;
    this.#sections.delete(id);
    this.#count(section.segment, -section.payload.length);
  }

  #count(segment: number, bytes: number): void {
    const liveBytes = this.liveIn(segment) + bytes;
    if (liveBytes === 0) this.#liveBytes.delete(segment);
    else this.#liveBytes.set(segment, liveBytes);
  }
}
