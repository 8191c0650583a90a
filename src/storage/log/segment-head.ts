/** Defines the head of a segment, which is its first section: a tagged value (tags.ts) that includes a copy of the manifest. */
import { ReplayError } from "../../base/error.ts";
import { decodeTagged } from "../decode.ts";
import { encodeTagged } from "../encode.ts";

export const FORMAT = 2;

export interface SegmentHead {
  readonly format: number;
  /** The id of the log, which is random by default. All segments of the log have the same id. */
  readonly run: string;
  readonly segment: number;
  /** The number of the segment's first group. */
  readonly group: number;
  /** The earlier segments that were kept when the segment began, as ranges: [first, last]. */
  readonly kept: readonly (readonly [number, number])[];
  /** The sum of the section checksums of each kept segment, which identifies its contents. */
  readonly sums: Uint32Array;
  /** The value that the owner stored, which is the same in each segment. */
  readonly about: object;
}

const FILE = /^(\d{8})\.rpr$/;

export function fileOf(segment: number): string {
  return `${String(segment).padStart(8, "0")}.rpr`;
}

/** Returns the number of a segment's file; 0 for any other file. */
export function segmentOf(file: string): number {
  return Number(FILE.exec(file)?.[1] ?? 0);
}

export function headBytes(head: SegmentHead): Uint8Array {
  return encodeTagged(head, "about");
}

/**
 * Decodes a head whose checksum is valid. Returns undefined if the contents do not fit the segment.
 * @throws ReplayError UNSUPPORTED if the head has another format
 */
export function headOf(bytes: Uint8Array, segment: number): SegmentHead | undefined {
  let head: SegmentHead;
  try {
    head = decodeTagged(bytes) as SegmentHead;
  } catch {
    return undefined;
  }
  if (head?.format !== FORMAT)
    throw new ReplayError("UNSUPPORTED", `${fileOf(segment)} has format ${head?.format}, but this version of Reprise reads ${FORMAT}`);
  const { run, group, kept, sums, about } = head;
  const ranges = Array.isArray(kept) && kept.every((range) => range?.length === 2 && range.every((number: unknown) => Number.isSafeInteger(number)));
  const areEarlier = ranges && kept.every(([first, last]) => first > 0 && first <= last && last < segment);
  const hasSums = areEarlier && sums instanceof Uint32Array && sums.length === [...inRanges(kept)].length && typeof run === "string";
  return head.segment === segment && hasSums && Number.isSafeInteger(group) && typeof about === "object" && about !== null ? head : undefined;
}

export function rangesOf(segments: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const segment of segments) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === segment - 1) last[1] = segment;
    else ranges.push([segment, segment]);
  }
  return ranges;
}

export function* inRanges(ranges: SegmentHead["kept"]): Generator<number, void> {
  for (const [first, last] of ranges) for (let segment = first; segment <= last; segment++) yield segment;
}
