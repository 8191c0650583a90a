/** What a directory holds: which segments, up to where, and what is wrong with it. */
import { corrupt, ReplayError } from "../../base/error.ts";
import { COMMIT, SEAL } from "../../base/kinds.ts";
import type { FullLogger } from "../../base/warnings.ts";
import { attempt } from "../../files/attempt.ts";
import type { Directory, StorageFile } from "../../files/directory.ts";
import type { SectionMemory } from "../../memory/section-memory.ts";
import { NUMBER_BYTES, numberAt, SECTION_BYTES } from "../format/section.ts";
import { fileOf, inRanges, type SegmentHead, segmentOf } from "./segment-head.ts";
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
  readonly head: SegmentHead;
  /** Oldest first; the last one may be written to. `bytes` that count, and the sum of its sections. */
  readonly segments: readonly { readonly id: number; readonly bytes: number; readonly sum: number }[];
  /** Number of the next group. */
  readonly group: number;
  /** Whether damage was cut off: what is there is older than what was on the disk. */
  readonly salvaged: boolean;
  /** Number of a new segment: higher than that of any file, since a file may come back after a crash that was removed. */
  readonly next: number;
  /** Files to remove, newest first: they hold nothing that counts. */
  readonly remove: readonly string[];
  /** Segments that counted where damage was cut off, and were given back since. */
  readonly lost: readonly number[];
}

/** @returns undefined where there is nothing @throws ReplayError CORRUPT · UNSUPPORTED for another version's files */
export function recover(directory: Directory, memory: SectionMemory, options: RecoverOptions): Recovered | undefined {
  const names = attempt("listing", directory, "", () => directory.list());
  const present = names.map(segmentOf).filter((segment) => segment > 0);
  present.sort((a, b) => a - b);
  return new Scan(directory, memory, options, present).result();
}

/** A place in a segment, as messages begin. */
export function damageAt(directory: Directory, segment: number, at: number): string {
  return `${directory.name}/${fileOf(segment)} is cut or altered at byte ${at}`;
}

class Scan {
  readonly #directory: Directory;
  readonly #options: RecoverOptions;
  readonly #present: number[];
  readonly #memory: SectionMemory;
  readonly #remove: string[] = [];
  readonly #next: number;
  #salvaged = false;

  constructor(directory: Directory, memory: SectionMemory, options: RecoverOptions, present: number[]) {
    this.#directory = directory;
    this.#memory = memory;
    this.#options = options;
    this.#present = present;
    this.#next = (present.at(-1) ?? 0) + 1;
  }

  result(): Recovered | undefined {
    const newest = this.#newest();
    if (newest?.head === undefined) return undefined;
    const { run } = newest.head;
    const sums = sumsOf(newest.head);
    const kept = this.#kept(newest);
    for (const segment of this.#present) if (segment < newest.segment && !kept.includes(segment)) this.#gone(segment, "it was given back");
    const last = this.#options.salvage ? this.#whole(kept, newest, sums) : newest;
    const older = kept.filter((segment) => segment < last.segment);
    if (last === newest) this.#missing(kept);
    return {
      head: { ...(last.head ?? newest.head), run },
      segments: [
        ...older.map((id) => ({ id, bytes: reading(this.#directory, id, ({ size }) => size), sum: sums.get(id) as number })),
        { id: last.segment, bytes: last.whole, sum: last.sum },
      ],
      group: last.group,
      salvaged: this.#salvaged,
      next: this.#next,
      remove: this.#remove,
      lost: last === newest ? [] : this.#kept(last).filter((segment) => segment !== last.segment && !older.includes(segment)),
    };
  }

  /** The newest segment, or the one before where that never held anything. */
  #newest(): Walk | undefined {
    for (let later: Walk | undefined; ; ) {
      const segment = this.#present.at(-1);
      if (segment === undefined) return undefined;
      const walk = this.#walk(segment);
      const fault = walk.fault ?? openGroup(walk);
      if (walk.sealed) this.#damaged(segment + 1, 0, later?.fault ?? "it is missing");
      else if (fault !== undefined) this.#cut(walk, fault);
      if (walk.head !== undefined && !this.#isAhead(walk)) return walk;
      later = walk;
      this.#present.pop();
      this.#gone(segment, "it holds nothing");
      if (this.#present.length === 0 && segment !== 1) throw new ReplayError("CORRUPT", `${this.#directory.name}/${fileOf(segment - 1)} is missing`);
    }
  }

  /** Says what becomes of the end of the newest segment. @throws ReplayError CORRUPT where it is damage */
  #cut(walk: Walk, fault: string): void {
    const { segment, size, whole, foreign } = walk;
    const at = walk.faultAt ?? whole;
    const isAlone = walk.head === undefined && this.#present.length === 1;
    const isDamage = walk.fault !== undefined && laterGroup(this.#directory, segment, this.#memory, at, walk.head === undefined ? -1 : walk.group);
    // What stands alone has nothing before it, and may be anybody's.
    if (isAlone && (foreign || isDamage)) throw corrupt(damageAt(this.#directory, segment, at), `${fault}; it is left as it is`);
    if (foreign || isDamage) this.#damaged(segment, at, fault);
    else {
      const what = `${size - whole} bytes behind byte ${whole} are a torn tail, and are cut off (${fault})`;
      this.#options.logger.warn(`${this.#directory.name}/${fileOf(segment)}: ${what}`);
    }
  }

  /** @throws ReplayError CORRUPT, unless damage is to be cut off */
  #damaged(segment: number, at: number, what: string): void {
    const error = corrupt(damageAt(this.#directory, segment, at), what);
    if (!this.#options.salvage) throw error;
    this.#salvaged = true;
    this.#options.logger.warn(`${error.message}; what follows is given up`);
  }

  /** Whether a segment holds no group, and the one before it has lost its tail: then nothing of it was on the disk for sure. */
  #isAhead({ group, head }: Walk): boolean {
    const [segment = 0] = this.#present.slice(-2, -1);
    if (head === undefined || head.group !== group || head.kept.at(-1)?.[1] !== segment) return false;
    const before = this.#walk(segment);
    return before.head?.run === head.run && !before.sealed && before.sum !== sumsOf(head).get(segment);
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
  #whole(kept: readonly number[], newest: Walk, sums: ReadonlyMap<number, number>): Walk {
    const run = newest.head?.run;
    let before: Walk | undefined;
    for (const segment of kept) {
      if (segment === newest.segment) return newest;
      const walk = this.#present.includes(segment) ? this.#walk(segment) : undefined;
      const fault = walk === undefined ? "it is missing" : faultOf(walk, run, sums.get(segment));
      if (walk !== undefined && fault === undefined) {
        before = walk;
        continue;
      }
      const last = walk?.head?.run === run && follows(before, walk as Walk) ? walk : before;
      const at = walk?.faultAt ?? 0;
      if (last === undefined) {
        const error = corrupt(damageAt(this.#directory, segment, at), fault as string);
        throw new ReplayError("CORRUPT", `${error.message}; there is nothing before it to salvage`);
      }
      this.#damaged(segment, at, fault as string);
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

/** What is wrong with a segment that is not the newest: all that the newest one knows of must be there, and no group behind it. */
export function faultOf(walk: Walk, run: string | undefined, sum: number | undefined): string | undefined {
  if (walk.head !== undefined && walk.head.run !== run) return "it is of another run";
  const open = openGroup(walk);
  if (walk.head !== undefined && walk.sum === sum && open === undefined) return undefined;
  return walk.fault ?? open ?? "it is another one than stood here";
}

function openGroup(walk: Walk): string | undefined {
  return walk.isOpen ? `group ${walk.group} has no end` : undefined;
}

/** Whether a segment may follow another one: groups are missing only where segments between were given back. */
function follows(before: Walk | undefined, walk: Walk): boolean {
  const group = walk.head?.group ?? 0;
  return before === undefined || group === before.group || (walk.segment !== before.segment + 1 && group > before.group);
}

/** The sums of the segments that were kept when one began. */
export function sumsOf({ kept, sums }: SegmentHead): Map<number, number> {
  return new Map([...inRanges(kept)].map((segment, i) => [segment, sums[i] as number]));
}

function reading<T>(directory: Directory, segment: number, read: (file: StorageFile) => T): T {
  const file = attempt("opening", directory, fileOf(segment), () => directory.open(fileOf(segment), false));
  try {
    return read(file);
  } finally {
    file.close();
  }
}

/** Whether a segment ends with a SEAL: all of it was on the disk. */
export function isSealed(directory: Directory, segment: number, memory: SectionMemory): boolean {
  return reading(directory, segment, (file) => {
    const from = file.size - END_BYTES;
    if (from < 0) return false;
    memory.reserve(END_BYTES);
    const { u8, view, base } = memory;
    const got = attempt("reading", directory, fileOf(segment), () => file.read(u8.subarray(base, base + END_BYTES), from));
    const isOne = got === END_BYTES && view.getUint32(base, true) === SEAL && view.getUint32(base + 8, true) === NUMBER_BYTES;
    return isOne && view.getUint32(base + 12, true) === memory.sum(base);
  });
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
