/** Defines the messages between the room Record and its worker. */
import type { Destination } from "../parts/save-folder.ts";
import type { Ending, Episode, Recording, Step } from "./demonstrations.ts";
import type { Format } from "./formats.ts";

/** The acknowledged state, which survives a crash of the tab, the browser or the machine. */
export interface Saved {
  readonly episodes: readonly Episode[];
  /** The number of steps, including the steps of the open episode. */
  readonly steps: number;
  /** The bytes on the disk. */
  readonly bytes: number;
  /** The number of the next episode. */
  readonly next: number;
}

export interface Opened extends Saved {
  /** The episode that was cut when the tab was closed. */
  readonly cut: Episode | undefined;
  /** False if the browser stores no files for pages, or has no room for the first file. Everything is then lost when the tab is closed. */
  readonly lasting: boolean;
  /** Whether the disk is full: nothing new is saved until there is room. */
  readonly full: boolean;
}

/** The result of a clone's trial: the number of games, and in how many of them the clone docked. */
export interface Trial {
  readonly docked: number;
  readonly games: number;
}

/** Requests to the worker, which answers when they are done. */
export interface Questions {
  open(): Opened;
  /** Deletes everything stored. */
  reset(): void;
  begin(seed: number): void;
  end(ending: Ending, seen?: Step["observation"]): Saved;
  use(id: number, used: boolean): Saved;
  delete(id: number): Saved;
  read(id: number): Recording;
  /** Reports progress with "learning". Undefined if the training was stopped before its first update. */
  train(updates: number): Trial | undefined;
  act(state: Float32Array): [number, number];
  /** Reports progress with "exporting". @returns the written files: a map with the files if the destination is a map, or undefined if it is a folder */
  export(format: Format, to: Destination): { readonly episodes: number; readonly files: ReadonlyMap<string, Uint8Array> | undefined };
  /** Ends the episode, and releases the files. */
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
  /** Data could not be saved, or a task without a pending request failed. */
  | { readonly type: "trouble"; readonly message: string }
  | { readonly type: "learning"; readonly done: number; readonly of: number; readonly error: number }
  | { readonly type: "exporting"; readonly episodes: number; readonly of: number };
