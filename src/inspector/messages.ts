/** What goes over a port between an inspector and the Replay that it looks at. Other messages on it are somebody else's. */
import type { SentError } from "../remote/port.ts";
import type { Answer, Command, Question } from "./protocol.ts";

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
