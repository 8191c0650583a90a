/**
 * Saves the open writers, and the column layouts by number, as tagged values:
 *   WRITERS: array of options · LAYOUTS: array of object { id: number, columns: object }
 */

import { LAYOUTS, WRITERS } from "../../base/kinds.ts";
import type { Section } from "../../memory/state.ts";
import type { ColumnLayout } from "../../schema/columns.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";
import type { ReplayState } from "../replay-state.ts";

export function writersBytes({ writers }: ReplayState): Uint8Array {
  const all = writers.map(({ options }) => options);
  return encodeTagged(all, "writers");
}

/** The encoded section of each list of layouts. Lists are replaced, never changed. */
const encodedLayouts = new WeakMap<readonly ColumnLayout[], Uint8Array>();

/** Yields a section for each list of column layouts. The lists may include layouts that are no longer used. */
export function* layoutSections({ engine }: ReplayState): Generator<Section, void> {
  for (const [id, layouts] of engine.columnLayouts.chunks) {
    let bytes = encodedLayouts.get(layouts);
    if (bytes === undefined) {
      const values = layouts.map(({ id, columns }) => ({ id, columns: JSON.parse(columns) as object }));
      bytes = encodeTagged(values, "columns");
      encodedLayouts.set(layouts, bytes);
    }
    yield [LAYOUTS, id, bytes];
  }
}

/** Reads the sections of writers and of layouts. Only the newest section of writers, and the newest section of layouts with each id, count. */
export class WritersReader {
  #writers: Uint8Array | undefined;
  readonly #layouts = new Map<number, Uint8Array>();

  /** Reads a section if it contains writers or layouts. Returns whether it does. */
  take(kind: number, id: number, payload: Uint8Array): boolean {
    if (kind === WRITERS) this.#writers = payload.slice();
    else if (kind === LAYOUTS) this.#layouts.set(id, payload.slice());
    return kind === WRITERS || kind === LAYOUTS;
  }

  /** Opens the writers in a new Replay. Returns whether a section of writers was read. */
  adopt(replayState: ReplayState): boolean {
    if (this.#writers === undefined) return false;
    for (const id of [...this.#layouts.keys()].sort((a, b) => a - b))
      for (const layout of decodeTagged(this.#layouts.get(id) as Uint8Array) as readonly ColumnLayout[])
        replayState.engine.columnLayouts.put(layout.id, layout.columns as unknown as object);
    for (const options of decodeTagged(this.#writers) as readonly object[]) replayState.adopt(options);
    return true;
  }
}
