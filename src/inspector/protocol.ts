/** Defines the questions of an inspector and their answers, as plain values that can be posted over ports. */
import type { Blocked } from "../batch/batch.ts";
import type { SentError } from "../remote/wire/messages.ts";
import type { RateLimiter } from "../schema/rate-limiter.ts";
import type { Selector } from "../schema/selector.ts";
import type { TableStats } from "../tables/table.ts";

export interface LeafAbout {
  readonly path: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

export interface TableAbout {
  readonly name: string;
  readonly maxSize: number;
  /** The limit on steps. Infinity means no limit, here and in `maxTimesSampled`. */
  readonly maxSteps: number;
  readonly maxTimesSampled: number;
  readonly sampler: Selector;
  readonly remover: Selector;
  readonly rateLimiter: RateLimiter;
}

/** The constant properties of a Replay. */
export interface About {
  readonly leaves: readonly LeafAbout[];
  readonly tables: readonly TableAbout[];
  readonly maxBytes: number;
  /** The leaf of rewards; undefined if the spec has none. */
  readonly reward: string | undefined;
}

/** An episode that the items of a table cover from its first step to its last. */
export interface Episode {
  readonly number: number;
  /** The sum of the episode's rewards; NaN if the spec has no reward. */
  readonly return: number;
  /** The number of steps, without the final step, which has no action. */
  readonly length: number;
  readonly end: "terminated" | "truncated" | "ended";
}

/** The counters of a table, and whether its rate limiter would allow an insert or a draw now. */
export interface TableCounts extends TableStats {
  readonly canSample: boolean;
  readonly canInsert: boolean;
}

/** Data about the items of a table: about all items, or about a random sample. */
export interface Sample {
  readonly isWhole: boolean;
  readonly keys: Float64Array;
  readonly priorities: Float64Array;
  readonly probabilities: Float64Array;
  readonly timesSampled: Uint32Array;
  readonly lengths: Uint32Array;
  /** For each item, the number of newer items; NaN if this number is unknown. */
  readonly ages: Float64Array;
  /** For each item, the number of episodes that started after its episode; NaN if this number is unknown. */
  readonly episodeAges: Float64Array;
}

export interface TableSurvey {
  readonly name: string;
  readonly sample: Sample;
  /** The sum of the weights of all items; 0 if priorities are not weights. */
  readonly total: number;
  /** The episodes found since the last survey, in the order of their ends. */
  readonly episodes: readonly Episode[];
  /** Whether episodes can be found, because the table's remover keeps the order of age. */
  readonly hasEpisodes: boolean;
}

/** The state of a Replay at one moment. */
export interface Survey {
  readonly steps: number;
  readonly bytes: number;
  /** The packed frames by name. `bytes` is the size of their compressed entries, and `rawBytes` is the size of the same frames without compression. */
  readonly packed: readonly { readonly name: string; readonly bytes: number; readonly rawBytes: number }[];
  readonly writers: number;
  readonly tables: readonly TableCounts[];
  /** The requested table. */
  readonly table: TableSurvey | undefined;
}

/** The properties of one item, and the probability of drawing it. */
export interface ItemAbout {
  readonly key: number;
  readonly state: "live" | "waiting" | "gone";
  readonly length: number;
  readonly priority: number;
  /** priority^exponent; NaN if priorities are not weights. */
  readonly weight: number;
  /** The probability that a draw of one item selects this item. */
  readonly probability: number;
  readonly timesSampled: number;
  /** The age of the item, as in Sample. */
  readonly age: number;
  readonly episode: number;
  readonly episodeAge: number;
}

/** A leaf of an item, with as many of its steps as are shown. */
export interface LeafValues extends LeafAbout {
  /** `steps` values of this shape, one after the other; undefined if one step is too large to read without allocating memory. */
  readonly data: ArrayLike<number> | ArrayLike<bigint> | readonly string[] | undefined;
  readonly steps: number;
}

export interface ItemView extends ItemAbout {
  readonly table: string;
  readonly leaves: readonly LeafValues[];
}

/** The state of an item when it was drawn, since the item may be evicted before it is viewed. */
export interface DrawnItem extends ItemAbout {
  /** The leaves of the item. Undefined if this and the earlier items of the draw have too many values. */
  readonly leaves: readonly LeafValues[] | undefined;
}

/** The result of a draw from the table with a separate random state. */
export interface DrawPreview {
  readonly table: string;
  readonly items: readonly DrawnItem[];
  /** The reason why there are fewer items than requested. */
  readonly blocked: Blocked | undefined;
}

/** The questions of an inspector by kind. */
export interface Questions {
  readonly about: { readonly kind: "about" };
  readonly survey: { readonly kind: "survey"; readonly table: string | undefined };
  readonly draw: { readonly kind: "draw"; readonly table: string; readonly n: number };
  readonly item: { readonly kind: "item"; readonly table: string; readonly key: number };
}

export interface Answers {
  readonly about: About;
  readonly survey: Survey;
  readonly draw: DrawPreview;
  readonly item: ItemView;
}

export type Kind = keyof Questions;
export type Question = Questions[Kind];
export type Answer = Answers[Kind];

/** A command of an inspector to a program that can be paused. */
export type Command = "pause" | "step" | "resume";

// The messages over a port between an inspector and its Replay. Other messages on the port are ignored.

/** The version of the protocol, which must be the same at both ends. */
export const VERSION = 1;

export interface AskMessage {
  readonly reprise: "ask";
  readonly version: number;
  readonly id: number;
  readonly question: Question;
}

export interface CommandMessage {
  readonly reprise: "turn";
  readonly command: Command;
}

export type ToReplay = AskMessage | CommandMessage;

export interface AnswerMessage {
  readonly reprise: "answer";
  readonly id: number;
  readonly answer?: Answer;
  readonly error?: SentError;
}

/** Reports that the other end has stopped answering. */
export interface GoneMessage {
  readonly reprise: "gone";
}

/** Reports that the other end starts to answer. */
export interface HereMessage {
  readonly reprise: "here";
}

export type ToInspector = AnswerMessage | GoneMessage | HereMessage;

/** Returns the buffers of arrays in an answer, which are transferred, not copied. */
export function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) buffersIn(part, found);
  return found;
}
