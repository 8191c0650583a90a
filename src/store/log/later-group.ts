/** What tells damage from a tail that was cut: behind damage there are groups that came later. */

import type { SectionMemory } from "../../core/section-memory.ts";
import { attempt } from "../directory/attempt.ts";
import type { Directory } from "../directory/directory.ts";
import { COMMIT, SEAL } from "../format/kinds.ts";
import { NUMBER_BYTES, numberAt, SECTION_BYTES } from "../format/section.ts";

const PIECE = 1 << 20;
const BYTES = SECTION_BYTES + NUMBER_BYTES;

/** Whether a whole COMMIT or SEAL of a later group than this one stands anywhere behind an offset. */
export function laterGroup(directory: Directory, name: string, memory: SectionMemory, from: number, group: number): boolean {
  const file = attempt("opening", directory, name, () => directory.open(name, false));
  try {
    memory.reserve(Math.min(PIECE, Math.max(file.size - from, 0)) + BYTES);
    let have = 0;
    for (let at = from; ; ) {
      const into = memory.u8.subarray(memory.base + have, Math.min(memory.base + have + PIECE, memory.u8.length));
      const got = attempt("reading", directory, name, () => file.read(into, at));
      if (!(got > 0)) return false;
      at += got;
      have += got;
      for (const kind of [COMMIT, SEAL]) if (isIn(memory, have, kind, group)) return true;
      // One may have begun at the end of the piece.
      const rest = Math.min(have, BYTES - 1);
      memory.u8.copyWithin(memory.base, memory.base + have - rest, memory.base + have);
      have = rest;
    }
  } finally {
    file.close();
  }
}

function isIn(memory: SectionMemory, have: number, kind: number, group: number): boolean {
  const { u8, view, base } = memory;
  const last = base + have - BYTES;
  for (let at = u8.indexOf(kind, base); at >= 0 && at <= last; at = u8.indexOf(kind, at + 1)) {
    if (view.getUint32(at, true) !== kind || view.getUint32(at + 8, true) !== NUMBER_BYTES) continue;
    if (memory.sum(at) === view.getUint32(at + 12, true) && numberAt(view, at + SECTION_BYTES) > group) return true;
  }
  return false;
}
