/**
 * Recovers a damaged recording. All complete episodes are kept, including episodes after the damage. Damaged episodes keep their steps up to the damage.
 */
import { corrupt } from "../../../base/error.ts";
import { RECORDED_END, RECORDED_FINAL, RECORDED_INDEX, RECORDED_STEP } from "../../../base/kinds.ts";
import { loggerOf } from "../../../base/warnings.ts";
import { SectionMemory } from "../../../memory/section-memory.ts";
import { recover, sumsOf } from "../../../storage/log/read-directory.ts";
import { type GroupVisitor, type SalvagedSegment, type Stretch, salvageSegment } from "../../../storage/log/salvage-segment.ts";
import { fileOf, inRanges, type SegmentHead, segmentOf } from "../../../storage/log/segment-head.ts";
import { parseAbout } from "../../model/recording/about.ts";
import { Contents, endOf } from "../../model/recording/contents.ts";
import { RowLayout } from "../../model/recording/row-layout.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import type { Damage } from "../damage.ts";
import type { Listing } from "./listing.ts";
import type { RecordingFolder } from "./recording-folder.ts";
import { type LostPart, type Piece, type ReadPart, SalvagedEpisodes } from "./salvaged-episodes.ts";

export interface SalvageOptions {
  readonly signal?: AbortSignal | undefined;
  readonly losses: Damage;
}

/**
 * Lists the intact parts of all segments.
 * @throws ReplayError CORRUPT if no segment has a valid header · UNSUPPORTED if another version wrote it · SPEC_MISMATCH if there is no recording
 * @throws RldsError EMPTY if nothing has been recorded
 */
export async function salvageRecording(folder: RecordingFolder, { signal, losses }: SalvageOptions): Promise<Listing> {
  const { directory } = folder;
  const memory = new SectionMemory();
  const ids = directory
    .list()
    .map(segmentOf)
    .filter((id) => id > 0);
  const segments: SalvagedSegment<PartVisitor>[] = [];
  for (const id of ids.sort((a, b) => a - b)) {
    signal?.throwIfAborted();
    await folder.ready(id);
    segments.push(salvageSegment(directory, id, memory, endGroupOf(segments.at(-1)) ?? 0, () => new PartVisitor()));
    await folder.release();
  }
  const newest = newestWithHead(segments);
  if (newest?.head === undefined) {
    await folder.ready(ids.at(-1) as number);
    const logger = loggerOf(losses.logger(directory.name));
    if ((await folder.retryRead(() => recover(directory, memory, { salvage: true, logger }))) === undefined)
      throw new RldsError("EMPTY", "nothing has been recorded yet", { file: directory.name });
    throw corrupt(directory.name, "no file has a readable header, so the spec is unknown");
  }
  const { head } = newest;
  const about = parseAbout(directory.name, head.about);
  const expected = [...inRanges(head.kept), ...segments.map(({ id }) => id).filter((id) => id >= newest.id)];
  const slots = expected.map((id) => slotOf(id, segments, newest.id, head));
  for (const { id, fault } of slots) if (fault !== undefined) losses.add(corruptFile({ file: fileOf(id) }, fault));
  const episodes = new SalvagedEpisodes(partsOf(slots), statedContents(slots), new RowLayout(about.spec));
  for (const error of episodes.losses()) losses.add(error);
  const last = segments.at(-1);
  if (last?.isSealed) losses.add(corruptFile({ file: fileOf(last.id + 1) }, "the file is missing, but the previous file refers to it"));
  const listed = slots.map(({ id, segment }) => ({
    ...{ id, bytes: segment?.size ?? 0, sum: segment?.sum ?? 0 },
    stretches: (segment?.parts ?? []).flatMap((part) => (isStretch(part) ? [{ start: part.start, to: part.to }] : [])),
  }));
  return { about, segments: listed, run: head.run, episodes: episodes.list() };
}

/** A segment number for which a segment must exist. */
interface Slot {
  readonly id: number;
  /** The segment. Undefined if it is missing or does not belong to the recording. */
  readonly segment: SalvagedSegment<PartVisitor> | undefined;
  readonly fault: string | undefined;
}

function slotOf(id: number, segments: readonly SalvagedSegment<PartVisitor>[], newest: number, head: SegmentHead): Slot {
  const segment = segments.find((one) => one.id === id);
  if (segment === undefined) return { id, segment, fault: "the file is missing" };
  if (segment.head !== undefined && segment.head.run !== head.run) return { id, segment: undefined, fault: "the file belongs to another run" };
  const following = segments[segments.indexOf(segment) + 1]?.head?.group;
  const isOther = id < newest && segment.sum !== undefined && segment.sum !== sumsOf(head).get(id) && endGroupOf(segment) === following;
  return isOther ? { id, segment: undefined, fault: "the file differs from the recorded file" } : { id, segment, fault: undefined };
}

/** Removes trailing segments that never contained any data. Returns the newest segment with a valid header. */
function newestWithHead(segments: SalvagedSegment<PartVisitor>[]): SalvagedSegment<PartVisitor> | undefined {
  while (segments.length > 1 && !segments.at(-1)?.parts.some(isStretch) && !segments.at(-2)?.isSealed) segments.pop();
  return [...segments].reverse().find(({ head }) => head !== undefined);
}

function isStretch<V>(part: object): part is Stretch<V> {
  return "visitor" in part;
}

/** Returns the number of the group after the last group in a segment. */
function endGroupOf(segment: SalvagedSegment<unknown> | undefined): number | undefined {
  const ends = (segment?.parts ?? []).flatMap((part) => (isStretch(part) ? [part.endGroup] : []));
  return ends.at(-1) ?? segment?.head?.group;
}

/** Returns the parts that were read and the parts that were lost, in order. Missing groups are a loss even if no bytes are missing. */
function partsOf(slots: readonly Slot[]): (ReadPart | LostPart)[] {
  const parts: (ReadPart | LostPart)[] = [];
  let group = 0;
  for (const [place, { id, segment }] of slots.entries()) {
    const isNewest = place === slots.length - 1;
    const lost = { segment: place, file: fileOf(id), isSingle: false, isTornTail: false };
    // Only the first segment of a recording has no index.
    let isAtIndex = place > 0;
    if (segment === undefined) parts.push({ ...lost, from: 0, to: 0, at: 0, fault: undefined, group, isAtIndex });
    for (const part of segment?.parts ?? []) {
      if (!isStretch<PartVisitor>(part)) {
        parts.push({ ...lost, ...part, group, isAtIndex, isTornTail: isNewest && part.isTail });
        continue;
      }
      const { visitor, firstGroup, endGroup } = part;
      if (firstGroup > group && place > 0 && parts.at(-1)?.pieces !== undefined)
        parts.push({ ...lost, segment: place - 1, file: fileOf(slots[place - 1]?.id ?? 0), ...endOfFile(slots[place - 1]), group, isAtIndex: false });
      parts.push({ segment: place, pieces: visitor.pieces, group: firstGroup, hasIndex: visitor.index !== undefined });
      isAtIndex = false;
      group = endGroup;
    }
  }
  return parts;
}

function endOfFile(slot: Slot | undefined): { readonly from: number; readonly to: number; readonly at: number; readonly fault: string } {
  const size = slot?.segment?.size ?? 0;
  return { from: size, to: size, at: size, fault: "its end is missing" };
}

/** Returns the content of each segment, as stated in the index of the next segment. */
function statedContents(slots: readonly Slot[]): (Contents | undefined)[] {
  return slots.map(({ id }, place) => {
    const following = slots[place + 1]?.segment?.parts ?? [];
    for (const part of following) {
      const index = isStretch<PartVisitor>(part) ? part.visitor.index : undefined;
      if (index !== undefined) return index.of === id ? index.contents : undefined;
    }
    return undefined;
  });
}

class PartVisitor implements GroupVisitor {
  readonly pieces: Piece[] = [];
  index: { readonly of: number; readonly contents: Contents } | undefined;
  /** The changes of the open group, which are applied when the group is complete. */
  readonly #open: (() => void)[] = [];

  section(kind: number, id: number, payload: Uint8Array): void {
    if (kind === RECORDED_STEP || kind === RECORDED_FINAL) this.#open.push(() => void this.#piece(id).steps++);
    if (kind === RECORDED_END) {
      const end = parsed(() => endOf(payload));
      this.#open.push(() => {
        this.#piece(id).end = end;
      });
    }
    if (kind === RECORDED_INDEX) {
      const contents = parsed(() => Contents.of(payload));
      this.#open.push(() => {
        if (contents !== undefined) this.index ??= { of: id, contents };
      });
    }
  }

  endGroup(): void {
    for (const add of this.#open.splice(0)) add();
  }

  #piece(episode: number): Piece {
    const last = this.pieces.at(-1);
    if (last?.episode === episode && last.end === undefined) return last;
    const piece: Piece = { episode, steps: 0, end: undefined };
    this.pieces.push(piece);
    return piece;
  }
}

/** Returns the result of `read`, or undefined if the data is invalid despite a correct checksum. */
function parsed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
