/** What a directory holds: which segments, up to where, and what is wrong with it. */
import type { SectionMemory } from "../../core/section-memory.ts";
import { ReplayError } from "../../error.ts";
import type { FullLogger } from "../../warnings.ts";
import { attempt } from "../directory/attempt.ts";
import type { Directory, StorageFile } from "../directory/directory.ts";
import { COMMIT, SEAL } from "../format/kinds.ts";
import { NUMBER_BYTES, numberAt, SECTION_BYTES } from "../format/section.ts";
import { fileOf, inRanges, segmentOf } from "./segment-head.ts";
import { Walk } from "./walk.ts";

const PIECE = 1 << 20;
/** Of a COMMIT, or a SEAL. */
const END_BYTES = SECTION_BYTES + NUMBER_BYTES;

export interface RecoverOptions {
  /** Keep what stands before damage, and give up the rest. */
  readonly salvage: boolean;
  /** Told what was found and mended. */
  readonly logger: FullLogger;
}

export interface Recovered {
  readonly about: object;
  /** Oldest first; the last one may be written to. `bytes` that count. */
  readonly segments: readonly { readonly id: number; readonly bytes: number }[];
  /** Number of the next group. */
  readonly group: number;
  readonly sealed: boolean;
  /** Files to remove, newest first: they hold nothing that counts. */
  readonly remove: readonly string[];
  /** Segments that are gone without the newest one saying so: it has to, before anything is removed. */
  readonly drop: readonly number[];
}

/** @returns undefined where there is nothing @throws ReplayError CORRUPT · UNSUPPORTED for another version's files */
export function recover(directory: Directory, memory: SectionMemory, options: RecoverOptions): Recovered | undefined {
  const names = attempt("listing", directory, "", () => directory.list());
  const present = names.map(segmentOf).filter((segment) => segment > 0);
  present.sort((a, b) => a - b);
  return new Scan(directory, memory, options, present).result();
}

/** A message that names the file and the place. */
export function corrupt(directory: Directory, segment: number, at: number, what: string): ReplayError {
  return new ReplayError("CORRUPT", `${directory.name}/${fileOf(segment)} is cut or altered at byte ${at}: ${what}`);
}

class Scan {
  readonly #directory: Directory;
  readonly #options: RecoverOptions;
  readonly #present: number[];
  readonly #memory: SectionMemory;
  readonly #remove: string[] = [];

  constructor(directory: Directory, memory: SectionMemory, options: RecoverOptions, present: number[]) {
    this.#directory = directory;
    this.#memory = memory;
    this.#options = options;
    this.#present = present;
  }

  result(): Recovered | undefined {
    const newest = this.#newest();
    if (newest?.head === undefined) return undefined;
    const kept = this.#kept(newest);
    for (const segment of this.#present) if (segment < newest.segment && !kept.includes(segment)) this.#gone(segment, "it was given back");
    const last = this.#options.salvage ? this.#salvaged(kept, newest) : newest;
    const older = kept.filter((segment) => segment < last.segment);
    if (last === newest) this.#missing(kept);
    return {
      about: newest.head.about,
      segments: [...older.map((id) => ({ id, bytes: reading(this.#directory, id, ({ size }) => size) })), { id: last.segment, bytes: last.whole }],
      group: last.group,
      sealed: last.sealed,
      remove: this.#remove,
      drop: last === newest ? [] : this.#kept(last).filter((segment) => !this.#present.includes(segment)),
    };
  }

  /** The newest segment, or the one before where that never held anything. */
  #newest(): Walk | undefined {
    const { logger, salvage } = this.#options;
    for (;;) {
      const segment = this.#present.at(-1);
      if (segment === undefined) return undefined;
      const walk = this.#walk(segment);
      const fault = walk.fault ?? openGroup(walk);
      if (fault === undefined) return walk;
      const at = walk.faultAt ?? walk.whole;
      const { size } = walk;
      if (walk.fault !== undefined && laterGroup(this.#directory, segment, this.#memory, at, walk.head === undefined ? -1 : walk.group)) {
        const error = corrupt(this.#directory, segment, at, fault);
        if (!salvage || (walk.head === undefined && this.#present.length === 1)) throw error;
        logger.warn(`${error.message}; what follows is given up`);
      } else
        logger.warn(
          `${this.#directory.name}/${fileOf(segment)}: ${size - walk.whole} bytes behind byte ${walk.whole} are a torn tail, and are cut off (${fault})`,
        );
      if (walk.head !== undefined) return walk;
      this.#present.pop();
      if (this.#present.length === 0 && segment !== 1) throw new ReplayError("CORRUPT", `${this.#directory.name}/${fileOf(segment - 1)} is missing`);
      this.#remove.push(fileOf(segment));
    }
  }

  /** The segments that should be there, oldest first. */
  #kept({ head, segment, dropped }: Walk): number[] {
    const gone = new Set(dropped);
    return [...inRanges(head?.kept ?? []), segment].filter((one) => !gone.has(one));
  }

  #missing(kept: readonly number[]): void {
    const missing = kept.find((segment) => !this.#present.includes(segment));
    if (missing !== undefined) throw new ReplayError("CORRUPT", `${this.#directory.name}/${fileOf(missing)} is missing`);
  }

  /** The last segment that can be used, as far as it can: the newest, or an older one with the first damage, or the one before that. */
  #salvaged(kept: readonly number[], newest: Walk): Walk {
    let before: Walk | undefined;
    for (const segment of kept) {
      const walk = segment === newest.segment ? newest : this.#present.includes(segment) ? this.#walk(segment) : undefined;
      const order = walk?.head === undefined ? undefined : follows(before, walk);
      const fault = walk === undefined ? "it is missing" : walk === newest ? order : (order ?? faultOf(walk));
      if (walk !== undefined && fault === undefined) {
        before = walk;
        continue;
      }
      const last = walk?.head === undefined || order !== undefined ? before : walk;
      const error = corrupt(this.#directory, segment, walk?.faultAt ?? 0, fault as string);
      if (last === undefined) throw new ReplayError("CORRUPT", `${error.message}; there is nothing before it to salvage`);
      this.#options.logger.warn(`${error.message}; what follows is given up`);
      for (const later of kept.filter((one) => one > last.segment && this.#present.includes(one)).reverse()) this.#gone(later, "it stands behind the damage");
      return last;
    }
    return newest;
  }

  #gone(segment: number, why: string): void {
    this.#options.logger.info(`${this.#directory.name}/${fileOf(segment)} is removed: ${why}`);
    this.#remove.push(fileOf(segment));
  }

  #walk(segment: number): Walk {
    const walk = new Walk(this.#directory, segment, this.#memory);
    try {
      return walk.toEnd();
    } finally {
      walk.close();
    }
  }
}

/** What is wrong with a segment that is not the newest. */
export function faultOf(walk: Walk): string | undefined {
  return walk.fault ?? openGroup(walk) ?? (walk.sealed ? undefined : "it has no seal");
}

function openGroup(walk: Walk): string | undefined {
  return walk.faultAt === undefined ? undefined : `group ${walk.group} has no end`;
}

/** What is wrong with the order of two segments, if anything is: groups are missing only where segments between were given back. */
export function follows(before: { readonly segment: number; readonly group: number } | undefined, walk: Walk): string | undefined {
  const group = walk.head?.group ?? 0;
  if (before === undefined || group === before.group) return undefined;
  return walk.segment === before.segment + 1 || group < before.group ? `it begins with group ${group}, where ${before.group} follows` : undefined;
}

function reading<T>(directory: Directory, segment: number, read: (file: StorageFile) => T): T {
  const file = attempt("opening", directory, fileOf(segment), () => directory.open(fileOf(segment), false));
  try {
    return read(file);
  } finally {
    file.close();
  }
}

/** Whether a whole COMMIT or SEAL of a later group than this one stands anywhere behind an offset: that tells damage from a tail that was cut. */
function laterGroup(directory: Directory, segment: number, memory: SectionMemory, from: number, group: number): boolean {
  return reading(directory, segment, (file) => {
    memory.reserve(Math.min(PIECE, Math.max(file.size - from, 0)) + END_BYTES);
    let have = 0;
    for (let at = from; ; ) {
      const into = memory.u8.subarray(memory.base + have, Math.min(memory.base + have + PIECE, memory.u8.length));
      const got = attempt("reading", directory, fileOf(segment), () => file.read(into, at));
      if (!(got > 0)) return false;
      at += got;
      have += got;
      for (const kind of [COMMIT, SEAL]) if (isIn(memory, have, kind, group)) return true;
      // One may have begun at the end of the piece.
      const rest = Math.min(have, END_BYTES - 1);
      memory.u8.copyWithin(memory.base, memory.base + have - rest, memory.base + have);
      have = rest;
    }
  });
}

function isIn(memory: SectionMemory, have: number, kind: number, group: number): boolean {
  const { u8, view, base } = memory;
  const last = base + have - END_BYTES;
  for (let at = u8.indexOf(kind, base); at >= 0 && at <= last; at = u8.indexOf(kind, at + 1)) {
    if (view.getUint32(at, true) !== kind || view.getUint32(at + 8, true) !== NUMBER_BYTES) continue;
    if (memory.sum(at) === view.getUint32(at + 12, true) && numberAt(view, at + SECTION_BYTES) > group) return true;
  }
  return false;
}
