/** Kinds of sections: a number has one meaning, in whatever file it stands. */

/** The log's own (storage/log/): 16 to 31. */
/** First in each file: the segment's head. */
export const SEGMENT = 16;
/** Ends a group: its number u64. */
export const COMMIT = 17;
/** Behind a segment's last group, once the beginning of the next one is on the disk: number of the group that follows u64. */
export const SEAL = 18;
/** id: a segment that is given back. */
export const DROP = 19;

/** State of a Replay, in snapshots and journals: 32 to 63. Records are drawn in assembly/persistence/. A later one of the same thing takes the place of an earlier one. */
/** First in a snapshot; in a journal it is part of the segment's head (head.ts). */
export const HEAD = 32;
/** The writers that are open (writers.ts). */
export const WRITERS = 33;
/** Of each pool, those of entries first, then of frames, then of steps: rows ever used, last episode (u32 each). */
export const POOLS = 34;
/** id: pool │ count u32, then ROW records. */
export const ROWS = 35;
/** id: pool │ count u32, then LINK records. In journals: a snapshot has all in ROWS. */
export const LINKS = 36;
/** id: pool │ count u32, then FREE records. In snapshots: a journal lets go of the order in which freed rows are used again, which nobody can see. */
export const FREE = 37;
/** id: table │ count u32, then SLOT records. */
export const SLOTS = 38;
/** id: table │ its numbers: counts, inserts, ends of queues and orders. */
export const TABLE = 39;
/** id: the first of these streams, among those of all writers in order │ a record of each. */
export const STREAMS = 40;
/** A value of the program's own, tagged. In journals. */
export const KEPT = 41;
/** Last in a snapshot: sections before it u32. */
export const END = 42;
/** id: numbers >>> 6 │ the column layouts with these numbers (writers.ts). */
export const LAYOUTS = 43;
/** id: pool │ bytes u32, then ENTRY records: of frames that are packed. */
export const ENTRIES = 44;
/** id: table │ what every draw changes: items that were drawn, random state, samples. */
export const DRAWN = 45;
/** id: table │ count u32, then COUNT records. In journals: a snapshot has all in SLOTS. */
export const COUNTS = 46;
/** id: places >>> 4 │ sessions of remote writers (storage/format/sessions.ts). In journals. */
export const SESSIONS = 47;
/** Ends what was a group before a migration wrote the journal anew, as one group. In journals with `retain: "all"`, whose steps are read by groups. */
export const GROUP_END = 48;

/** Calls that fill a buffer of reprise/pfrl (pfrl/store/history.ts): 64 to 95. */
export const FORM = 64;
export const STEP = 65;
export const SINGLE = 66;
export const ITEM = 67;
export const EPISODE = 68;
export const EPISODE_END = 69;
export const STATE = 70;
export const RANDOM = 71;
export const CLEAR = 72;

/** Recordings (datasets/model/recording/): 96 to 127. */
/** id: camera │ a frame: its pixels, or a PNG; of one in a file beside: its bytes u32, their CRC-32C u32. It stands before its step. */
export const RECORDED_FRAME = 96;
/** id: episode │ all leaves but the frames (datasets/model/recording/row-layout.ts). */
export const RECORDED_STEP = 97;
/** id: episode │ likewise: what was seen last, behind the last step. */
export const RECORDED_FINAL = 98;
/** id: episode │ how it ended (datasets/model/recording/contents.ts). */
export const RECORDED_END = 99;
/** id: the segment before this one │ what that holds (datasets/model/recording/contents.ts). First in its segment. */
export const RECORDED_INDEX = 100;

export function isOwn(kind: number): boolean {
  return kind >>> 4 === 1;
}
