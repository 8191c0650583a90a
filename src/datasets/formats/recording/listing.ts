/** Lists the content of a recording without reading steps. Each segment contains the list of the segment before it, so only the newest segment is scanned. */
import { RECORDED_END, RECORDED_FINAL, RECORDED_INDEX, RECORDED_STEP } from "../../../base/kinds.ts";
import { loggerOf } from "../../../base/warnings.ts";
import { SectionMemory } from "../../../memory/section-memory.ts";
import { faultOf, recover, type ScanResult } from "../../../storage/log/read-directory.ts";
import { SegmentReader, type SegmentStart } from "../../../storage/log/read-segment.ts";
import { fileOf, segmentOf } from "../../../storage/log/segment-head.ts";
import { parseAbout, type RecordingAbout } from "../../model/recording/about.ts";
import { Contents, DISCARDED, endOf } from "../../model/recording/contents.ts";
import { corruptFile, RldsError } from "../../model/rlds-error.ts";
import type { RecordingFolder } from "./recording-folder.ts";

/** An entry in the list of recorded episodes. */
export interface EpisodeEntry {
  /** The number of the episode in its sections, which also counts discarded episodes. */
  readonly number: number;
  /** The index of the segment in which the episode begins. */
  readonly segment: number;
  steps: number;
  flags: number;
  task: string;
  /** Whether the episode is damaged. If so, only its first steps are read. */
  readonly isCut?: boolean;
}

/** A range of complete groups in a segment. */
export interface SegmentStretch {
  /** The start of the stretch. Undefined if it begins with the segment. */
  readonly start: SegmentStart | undefined;
  readonly to: number;
}

/** A segment. A damaged segment has several stretches. */
export type ListedSegment = ScanResult["segments"][number] & { readonly stretches?: readonly SegmentStretch[] };

export interface Listing {
  readonly about: RecordingAbout;
  /** The segments, oldest first. */
  readonly segments: readonly ListedSegment[];
  readonly run: string;
  /** The episodes in order, without discarded episodes. */
  readonly episodes: readonly EpisodeEntry[];
}

/** The number of bytes that are read from the beginning of a segment, where the index is. */
const HEAD_PIECE = 1 << 16;

/**
 * Lists the segments and episodes of a recording.
 * @throws ReplayError CORRUPT if a segment is damaged · UNSUPPORTED if another version wrote it · SPEC_MISMATCH if there is no recording
 * @throws RldsError EMPTY if nothing has been recorded
 */
export async function listRecording(folder: RecordingFolder, signal?: AbortSignal): Promise<Listing> {
  const { directory } = folder;
  const memory = new SectionMemory();
  const newest = directory.list().reduce((max, name) => Math.max(max, segmentOf(name)), 0);
  await folder.ready(newest);
  const recovered = await folder.retryRead(() => recover(directory, memory, { salvage: false, logger: loggerOf(null) }));
  if (recovered === undefined) throw new RldsError("EMPTY", "nothing has been recorded yet", { file: directory.name });
  const { segments, head } = recovered;
  const about = parseAbout(directory.name, head.about);
  const all: Contents[] = [];
  for (const [i, segment] of segments.entries()) {
    signal?.throwIfAborted();
    const next = segments[i + 1];
    const stated = next === undefined ? undefined : await folder.retryRead(() => readPreviousContents(folder, next, segment.id, memory));
    if (stated === undefined) await folder.ready(segment.id);
    all.push(stated ?? contentsOf(folder, recovered, segment, memory, all.at(-1)));
    await folder.release();
  }
  return { about, segments, run: head.run, episodes: mergeEpisodes(all) };
}

/** Reads the list of the previous segment from the index of a segment, if that segment has an index. */
function readPreviousContents(
  { directory }: RecordingFolder,
  { id, bytes }: { readonly id: number; readonly bytes: number },
  of: number,
  memory: SectionMemory,
): Contents | undefined {
  const walk = new SegmentReader(directory, id, memory, bytes, HEAD_PIECE);
  try {
    const { sections } = walk;
    return walk.next() && sections.kind === RECORDED_INDEX && sections.id === of ? Contents.of(sections.payload) : undefined;
  } finally {
    walk.close();
  }
}

/** Computes the list of a segment by scanning it. */
function contentsOf(
  { directory }: RecordingFolder,
  { head: { run } }: ScanResult,
  { id, bytes, sum }: ScanResult["segments"][number],
  memory: SectionMemory,
  previous: Contents | undefined,
): Contents {
  let contents = new Contents(previous?.after);
  const walk = new SegmentReader(directory, id, memory, bytes);
  try {
    const { sections } = walk;
    let isFirst = true;
    while (walk.next()) {
      const { kind, id: of } = sections;
      if (kind === RECORDED_STEP || kind === RECORDED_FINAL) contents.step(of);
      else if (kind === RECORDED_END) contents.end(of, endOf(sections.payload));
      // The segments before the first existing segment are described only in this index.
      else if (kind === RECORDED_INDEX && isFirst && previous === undefined) contents = new Contents(Contents.of(sections.payload).after);
      isFirst = false;
    }
    // The newest segment is also checked, because its owner may have removed an incomplete end.
    const fault = faultOf(walk, run, sum);
    if (fault !== undefined) throw damaged(id, walk.faultAt ?? sections.end, fault);
  } finally {
    walk.close();
  }
  return contents;
}

export function damaged(segment: number, offset: number, fault: string): RldsError {
  return corruptFile({ file: fileOf(segment), offset }, `the segment is truncated or altered: ${fault}`);
}

/** Merges the parts of episodes, which may span several segments. */
function mergeEpisodes(all: readonly Contents[]): EpisodeEntry[] {
  const episodes: EpisodeEntry[] = [];
  for (const [segment, { parts }] of all.entries()) {
    for (const { episode, steps, flags, task } of parts) {
      const last = episodes.at(-1);
      if (last !== undefined && last.number === episode && last.flags === 0) {
        last.steps += steps;
        last.flags = flags;
        last.task = task;
      } else if (episode === (last?.number ?? -1) + 1) episodes.push({ number: episode, segment, steps, flags, task });
      else throw new RldsError("CORRUPT", `the next episode must be ${(last?.number ?? -1) + 1}, got ${episode}`);
    }
  }
  return episodes.filter(({ flags }) => (flags & DISCARDED) === 0);
}
