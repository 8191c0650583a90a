/** Lists the kinds of sections. Each number has the same meaning in every file. In the comments, "│" separates the id of a section from its contents. */

/** Sections of the log itself (storage/log/): 16 to 31. */
/** The first section of each file: the head of the segment. */
export const SEGMENT = 16;
/** Ends a group. Contents: number of the group u64. */
export const COMMIT = 17;
/** Follows the last group of a segment. Written after the beginning of the next segment is on the disk. Contents: number of the next group u64. */
export const SEAL = 18;
/** id: the number of a segment whose file is deleted. */
export const DROP = 19;

/**
 * State of a Replay, in snapshots and journals: 32 to 63. The layouts of the records are drawn in assembly/persistence/. A later record of an object replaces
 * its earlier record.
 */
/** The first section of a snapshot. In a journal, it is part of the segment's head (storage/format/head.ts). */
export const HEAD = 32;
/** The options of the open writers (storage/format/writers.ts). */
export const WRITERS = 33;
/** id: pool │ rows ever used, last episode (u32 each). Pools of entries are first, followed by pools of frames, and pools of steps. */
export const POOLS = 34;
/** id: pool │ count u32, then ROW records. */
export const ROWS = 35;
/** id: pool │ count u32, then LINK records. Only in journals; snapshots have links in ROWS. */
export const LINKS = 36;
/**
 * id: pool │ count u32, then FREE records. Only in snapshots. A journal omits the order in which freed rows are reused, because the order has no visible
 * effect.
 */
export const FREE = 37;
/** id: table │ count u32, then SLOT records. */
export const SLOTS = 38;
/** id: table │ the numbers of the table itself: its counters, and the ends of its queues and of its orders of items. */
export const TABLE = 39;
/** id: the number of the first stream, in the order of all writers │ one record per stream. */
export const STREAMS = 40;
/** The tagged value that the program passed to `journal.keep`. Only in journals. */
export const KEPT = 41;
/** The last section of a snapshot. Contents: number of preceding sections u32. */
export const END = 42;
/** id: number >>> 6 │ the column layouts whose numbers have this quotient (storage/format/writers.ts). */
export const LAYOUTS = 43;
/** id: pool │ bytes u32, then ENTRY records of packed frames. */
export const ENTRIES = 44;
/** id: table │ the state that every draw changes: drawn items, random state, samples. */
export const DRAWN = 45;
/** id: table │ count u32, then COUNT records. Only in journals; snapshots have counts in SLOTS. */
export const COUNTS = 46;
/** id: place >>> 4 │ the sessions of remote writers in 16 consecutive places (storage/format/sessions.ts). Only in journals. */
export const SESSIONS = 47;
/** Ends a former group after a migration rewrote the journal as one group. Only in journals with `retain: "all"`, whose steps are read by group. */
export const GROUP_END = 48;

/** Records of the calls that fill a buffer of reprise/pfrl (pfrl/store/history.ts): 64 to 95. */
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
/** id: camera │ a frame: its pixels, a PNG, or the length u32 and CRC-32C u32 of a separate file. Precedes its step. */
export const RECORDED_FRAME = 96;
/** id: episode │ all leaves except the frames (datasets/model/recording/row-layout.ts). */
export const RECORDED_STEP = 97;
/** id: episode │ the final observation, in the same form as a step. Follows the last step. */
export const RECORDED_FINAL = 98;
/** id: episode │ how the episode ended (datasets/model/recording/contents.ts). */
export const RECORDED_END = 99;
/** id: the previous segment │ the contents of that segment (datasets/model/recording/contents.ts). First in its segment. */
export const RECORDED_INDEX = 100;

export function isOwn(kind: number): boolean {
  return kind >>> 4 === 1;
}
