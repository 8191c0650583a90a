/**
 * Writes the snapshot as chunks: the magic bytes, and then one section per chunk. The sections are HEAD, WRITERS, LAYOUTS, all records of the state in order,
 * and END (base/kinds.ts). The snapshot includes the order in which freed rows are reused, so a restored Replay produces the same bytes as the original.
 */

import { ReplayError } from "../../base/error.ts";
import { END, HEAD, WRITERS } from "../../base/kinds.ts";
import { sealSection } from "../../memory/section-memory.ts";
import { State } from "../../memory/state.ts";
import { encodeTagged } from "../encode.ts";
import { headOf } from "../format/head.ts";
import { MAGIC, SECTION_BYTES } from "../format/section.ts";
import { layoutSections, writersBytes } from "../format/writers.ts";
import type { ReplayState } from "../replay-state.ts";

export function snapshot(replayState: ReplayState): Iterable<Uint8Array<ArrayBuffer>> {
  replayState.engine.open();
  return chunks(replayState);
}

function* chunks(replayState: ReplayState): Generator<Uint8Array<ArrayBuffer>, void> {
  const { engine } = replayState;
  const { changes, core } = engine;
  yield new TextEncoder().encode(MAGIC);
  for (const [kind, id, payload] of sections(replayState)) {
    engine.open();
    yield sealSection(core, SECTION_BYTES, kind, id, payload);
    if (engine.changes !== changes)
      throw new ReplayError("OUT_OF_TURN", "this Replay changed while its snapshot was being read. Read all chunks before you change the Replay");
  }
}

function* sections(replayState: ReplayState) {
  let count = 2;
  yield [HEAD, 0, encodeTagged(headOf(replayState), "options")] as const;
  yield [WRITERS, 0, writersBytes(replayState)] as const;
  // Unused layouts are not part of the state.
  replayState.engine.columnLayouts.sweep();
  for (const records of [layoutSections(replayState), new State(replayState.engine, replayState).all()]) {
    for (const section of records) {
      yield section;
      count++;
    }
  }
  yield [END, 0, new Uint8Array(Uint32Array.of(count).buffer)] as const;
}
