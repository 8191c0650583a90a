/**
 * The frame of every file that outlives a process:
 *
 *   "REPRISE1", then sections: │ kind u32 │ id u32 │ bytes u32 │ crc u32 │ bytes … │   little endian; crc over kind, id, bytes, and the bytes
 *
 * Kinds 1 to 15 are those of snapshots, 32 and above the owner's. The log's own:
 *
 *   SEGMENT  first in each file │ JSON {format, segment, group, kept, about} (segment-head.ts)
 *   COMMIT   ends a group       │ its number u64
 *   SEAL     last in a full one │ number of the group that follows u64
 *   DROP     id: a segment that is given back
 */
export const MAGIC = "REPRISE1";
export const SECTION_BYTES = 16;

export const SEGMENT = 16;
export const COMMIT = 17;
export const SEAL = 18;
export const DROP = 19;

/** What COMMIT and SEAL hold. */
export const NUMBER_BYTES = 8;

/** Whether a kind is the log's own. */
export function isOwn(kind: number): boolean {
  return kind >>> 4 === 1;
}

export function numberAt(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}

export function numberBytes(number: number): Uint8Array {
  const bytes = new Uint8Array(NUMBER_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, number, true);
  view.setUint32(4, Math.floor(number / 2 ** 32), true);
  return bytes;
}
