/** What the room Record and its worker say to each other. */
import type { Destination } from "../parts/save-folder.ts";
import type { Ending, Episode, Recording, Step } from "./demonstrations.ts";
import type { Format } from "./formats.ts";

/** What there is, all of it acknowledged: it outlives a crash of the tab, the browser or the machine. */
export interface Saved {
  readonly episodes: readonly Episode[];
  /** Those of the open episode too. */
  readonly steps: number;
  /** On the disk. */
  readonly bytes: number;
  /** The number of the next episode. */
  readonly next: number;
}

export interface Opened extends Saved {
  /** The episode that ended with the tab. */
  readonly cut: Episode | undefined;
  /** False where the browser keeps no files for pages, or has no room for the first of them: then everything is gone with the tab. */
  readonly lasting: boolean;
  /** Whether the disk has no room: nothing new is saved before there is some. */
  readonly full: boolean;
}

/** How well a clone does. */
export interface Trial {
  readonly docked: number;
  readonly games: number;
}

/** What the worker can be asked, and answers when it is done. */
export interface Questions {
  open(): Opened;
  /** Deletes what is there, whatever it is. */
  reset(): void;
  begin(seed: number): void;
  end(ending: Ending, seen?: Step["observation"]): Saved;
  use(id: number, used: boolean): Saved;
  delete(id: number): Saved;
  read(id: number): Recording;
  /** Tells of its progress by "learning". Undefined where it was stopped before its first update. */
  train(updates: number): Trial | undefined;
  act(state: Float32Array): [number, number];
  /** Tells of its progress by "exporting". @returns what was written: to a map a map with the files, to a folder none */
  export(format: Format, to: Destination): { readonly episodes: number; readonly files: ReadonlyMap<string, Uint8Array> | undefined };
  /** Ends the episode, and lets go of the files. */
  leave(): void;
}

export type Name = keyof Questions;

export type ToWorker =
  | { readonly [N in Name]: { readonly type: "ask"; readonly id: number; readonly name: N; readonly args: Parameters<Questions[N]> } }[Name]
  | { readonly type: "step"; readonly step: Step }
  /** Ends training or export. */
  | { readonly type: "stop" };

export type FromWorker =
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "refusal"; readonly id: number; readonly message: string; readonly code?: string }
  | { readonly type: "saved"; readonly saved: Saved }
  /** Something could not be saved, or went wrong where nobody waits for an answer. */
  | { readonly type: "trouble"; readonly message: string }
  | { readonly type: "learning"; readonly done: number; readonly of: number; readonly error: number }
  | { readonly type: "exporting"; readonly episodes: number; readonly of: number };
