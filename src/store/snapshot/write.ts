/**
 * The snapshot: HEAD, WRITERS, all records of the state by number, END (format/kinds.ts), in chunks of a section each. The order in which freed rows are used again
 * goes with them, so that a Replay that goes on from it does what the original does, to the byte.
 */
import { State } from "../../core/state.ts";
import { ReplayError } from "../../error.ts";
import { engineOf, type Replay } from "../../replay.ts";
import type { Spec } from "../../spec/spec.ts";
import { headOf, writersBytes } from "../format/head.ts";
import { END, HEAD, WRITERS } from "../format/kinds.ts";
import { MAGIC, SECTION_BYTES } from "../format/section.ts";
import { encodeTagged } from "../tagged.ts";

/**
 * Everything, as chunks of at most about 64 KiB: items, keys, steps, open episodes, random states. Nothing may change until the last chunk was read.
 * @throws ReplayError OUT_OF_TURN where something did
 */
export function snapshot<S extends Spec, N extends string>(replay: Replay<S, N>): Iterable<Uint8Array> {
  engineOf(replay).open();
  return chunks(replay as unknown as Replay);
}

function* chunks(replay: Replay): Generator<Uint8Array, void> {
  const engine = engineOf(replay);
  const { core } = engine;
  const { changes } = engine;
  yield new TextEncoder().encode(MAGIC);
  for (const [kind, id, payload] of sections(replay)) {
    engine.open();
    const bytes = payload.length;
    const at = core.scratch(SECTION_BYTES + bytes);
    // Most are there already.
    if (payload.byteOffset !== at + SECTION_BYTES) core.u8.set(payload, at + SECTION_BYTES);
    core.x.section_seal(at, kind, id, bytes);
    yield core.u8.slice(at, at + SECTION_BYTES + bytes);
    if (engine.changes !== changes) throw new ReplayError("OUT_OF_TURN", "this Replay changed while a snapshot of it was read: read it to its end first");
  }
}

function* sections(replay: Replay) {
  let count = 2;
  yield [HEAD, 0, encodeTagged(headOf(replay), "options")] as const;
  yield [WRITERS, 0, writersBytes(replay)] as const;
  for (const section of new State(engineOf(replay), replay).all()) {
    yield section;
    count++;
  }
  yield [END, 0, new Uint8Array(Uint32Array.of(count).buffer)] as const;
}
