/** Questions of an inspector and the answers to them: plain values, which go over ports as they are. */
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
  /** Infinity where there is no limit, of both. */
  readonly maxSteps: number;
  readonly maxTimesSampled: number;
  readonly sampler: Selector;
  readonly remover: Selector;
  readonly rateLimiter: RateLimiter;
}

/** What stays as it is. */
export interface About {
  readonly leaves: readonly LeafAbout[];
  readonly tables: readonly TableAbout[];
  readonly maxBytes: number;
  /** The leaf of rewards; undefined where the spec has none. */
  readonly reward: string | undefined;
}

/** An episode that items of a table show from its first step to its last. */
export interface Episode {
  readonly number: number;
  /** The sum of its rewards; NaN where the spec has none. */
  readonly return: number;
  /** Steps, without the final one, at which nothing was done. */
  readonly length: number;
  readonly end: "terminated" | "truncated" | "ended";
}

/** Counters of a table, and what its rate limiter would do now. */
export interface TableCounts extends TableStats {
  readonly canSample: boolean;
  readonly canInsert: boolean;
}

/** Items of a table, one number each: all of them, or as many by chance. */
export interface Sample {
  readonly isWhole: boolean;
  readonly keys: Float64Array;
  readonly priorities: Float64Array;
  readonly probabilities: Float64Array;
  readonly timesSampled: Uint32Array;
  readonly lengths: Uint32Array;
  /** Items that came after it; NaN where the table does not tell. */
  readonly ages: Float64Array;
  /** Episodes that began after its own. */
  readonly episodeAges: Float64Array;
}

export interface TableSurvey {
  readonly name: string;
  readonly sample: Sample;
  /** The sum of the weights of all items; 0 where priorities are no weights. */
  readonly total: number;
  /** Those that were found since the last survey, in the order of their ends. */
  readonly episodes: readonly Episode[];
  /** Whether episodes can be found: the table's remover keeps the order of age. */
  readonly hasEpisodes: boolean;
}

/** A Replay at one moment. */
export interface Survey {
  readonly steps: number;
  readonly bytes: number;
  /** Frames that are packed, by name: bytes of their entries, and of the frames as they are. */
  readonly packed: readonly { readonly name: string; readonly bytes: number; readonly rawBytes: number }[];
  readonly writers: number;
  readonly tables: readonly TableCounts[];
  /** Of the table that was asked for. */
  readonly table: TableSurvey | undefined;
}

/** One item, and why a draw gives it. */
export interface ItemAbout {
  readonly key: number;
  readonly state: "live" | "waiting" | "gone";
  readonly length: number;
  readonly priority: number;
  /** priority^exponent; NaN where priorities are no weights. */
  readonly weight: number;
  /** That of a draw of one item. */
  readonly probability: number;
  readonly timesSampled: number;
  /** As in Sample. */
  readonly age: number;
  readonly episode: number;
  readonly episodeAge: number;
}

/** A leaf of an item: as many of its steps as are shown. */
export interface LeafValues extends LeafAbout {
  /** Of `steps` values of this shape, one after the other; undefined where one step is too large to be read without taking memory. */
  readonly data: ArrayLike<number> | ArrayLike<bigint> | readonly string[] | undefined;
  readonly steps: number;
}

export interface ItemView extends ItemAbout {
  readonly table: string;
  readonly leaves: readonly LeafValues[];
}

/** An item as it was drawn: it may leave before anyone looks. */
export interface DrawnItem extends ItemAbout {
  /** Undefined where they would be too many. */
  readonly leaves: readonly LeafValues[] | undefined;
}

/** What a draw of the table would have given, by a random state of the inspector's own. */
export interface DrawPreview {
  readonly table: string;
  readonly items: readonly DrawnItem[];
  /** Why there are fewer. */
  readonly blocked: Blocked | undefined;
}

/** The questions of an inspector, by kind. */
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

// The messages over a port between an inspector and the Replay that it looks at. Other messages on the port belong to others.

/** Both ends must have the same. */
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

/** Nobody answers any more. */
export interface GoneMessage {
  readonly reprise: "gone";
}

/** Somebody answers from now on. */
export interface HereMessage {
  readonly reprise: "here";
}

export type ToInspector = AnswerMessage | GoneMessage | HereMessage;

/** The buffers of arrays in an answer: they are handed over, not copied. */
export function buffersIn(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
  else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) buffersIn(part, found);
  return found;
}
