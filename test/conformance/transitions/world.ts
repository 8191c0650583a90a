/** Holds the objects that a PFRL case creates, and converts the names of arguments and fields. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  EpisodicReplayBuffer,
  PersistentEpisodicReplayBuffer,
  PersistentReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  type Transition,
} from "../../../src/pfrl/index.ts";
import type { Stored } from "../../../src/pfrl/store/stored.ts";
import { storeOf } from "../../support/pfrl.ts";
import { isObject, Malformed } from "../case.ts";
import type { Counted } from "./counts.ts";
import { decode } from "./values.ts";

export type Args = { readonly [name: string]: unknown };
export type Persistent = PersistentReplayBuffer | PersistentEpisodicReplayBuffer;
export type Buffer = ReplayBuffer | EpisodicReplayBuffer | PrioritizedReplayBuffer | PrioritizedEpisodicReplayBuffer | Persistent;
export type Prioritized = PrioritizedReplayBuffer | PrioritizedEpisodicReplayBuffer;

/** The functions that cases pass as the priority of an episode, by name. */
const PRIORITY_FUNCS: { readonly [name: string]: (episode: readonly Transition[]) => number } = {
  len: (episode) => episode.length,
  sum_reward: (episode) => episode.reduce((sum, { reward }) => sum + reward, 0),
  max_abs_reward: (episode) => Math.max(...episode.map(({ reward }) => Math.abs(reward))),
  one_over_len: (episode) => 1 / episode.length,
  zero: () => 0,
};

/** The arguments whose names here are not the camelCase form of the names in the case. */
const NAMES: { readonly [name: string]: string } = { betasteps: "betaSteps" };

const CLASSES: { readonly [name: string]: (args: object) => Buffer } = {
  ReplayBuffer: (args) => new ReplayBuffer(args),
  EpisodicReplayBuffer: (args) => new EpisodicReplayBuffer(args),
  PrioritizedReplayBuffer: (args) => new PrioritizedReplayBuffer(args),
  PersistentReplayBuffer: (args) => new PersistentReplayBuffer(args as { dirname: string }),
  PersistentEpisodicReplayBuffer: (args) => new PersistentEpisodicReplayBuffer(args as { dirname: string }),
  PrioritizedEpisodicReplayBuffer: (args) => new PrioritizedEpisodicReplayBuffer(args),
};

export class World {
  /** The temporary folder of the case's files. Undefined until a path is requested. */
  #folder: string | undefined;
  /** The arguments of the first object of the case. */
  readonly args: Args;
  readonly #objects = new Map<string, Buffer>();
  /** All created objects, including those whose names were given to another object later. */
  readonly #all: Buffer[] = [];
  readonly #counted = new Map<string, Counted[]>();

  constructor(args: Args) {
    this.args = args;
  }

  path(name: unknown): string {
    this.#folder ??= mkdtempSync(join(tmpdir(), "reprise-pfrl-"));
    return join(this.#folder, String(name));
  }

  make(on: string, name: unknown, args: Args): void {
    this.#objects.delete(on);
    const make = CLASSES[String(name)];
    if (make === undefined) throw new Malformed(`unknown class ${JSON.stringify(name)}`);
    const made = make(this.#argumentsOf(args));
    this.#all.push(made);
    this.#objects.set(on, made);
  }

  on(name: string): Buffer {
    const found = this.#objects.get(name);
    if (found === undefined) throw new Malformed(`no object ${JSON.stringify(name)}`);
    return found;
  }

  /** Returns the values and priorities that were appended to a PrioritizedBuffer, whose draws are compared as counts. */
  counted(name: string): Counted[] {
    const found = this.#counted.get(name) ?? [];
    this.#counted.set(name, found);
    return found;
  }

  prioritized(name: string): Prioritized {
    const found = this.on(name);
    if ("updateErrors" in found) return found;
    throw new Malformed(`${name} is no prioritized buffer`);
  }

  stored(name: string): Stored {
    return storeOf(this.on(name));
  }

  close(name: string): void {
    const found = this.on(name);
    if (!("close" in found)) throw new Malformed(`${name} cannot be closed`);
    found.close();
  }

  end(): void {
    for (const buffer of this.#all) if ("close" in buffer) buffer.close();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #argumentsOf(args: Args): { [name: string]: unknown } {
    const made: { [name: string]: unknown } = {};
    for (const [name, value] of Object.entries(args)) made[NAMES[name] ?? camelCase(name)] = decode(value);
    const func = made.defaultPriorityFunc;
    if (typeof func === "string") {
      if (PRIORITY_FUNCS[func] === undefined) throw new Malformed(`unknown function ${func}`);
      made.defaultPriorityFunc = PRIORITY_FUNCS[func];
    }
    for (const name of ["dirname", "ancestor"]) if (typeof made[name] === "string") made[name] = this.path(made[name]);
    return made;
  }
}

export function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Converts a transition of ours to the field names of the cases. */
export function named(transition: Transition): Args {
  const { state, action, reward, nextState, nextAction, isStateTerminal, ...extras } = transition;
  return { ...extras, state, action, reward, next_state: nextState, next_action: nextAction, is_state_terminal: isStateTerminal };
}

export function isTransition(value: unknown): value is Args {
  return isObject(value) && "state" in value && "is_state_terminal" in value;
}
