/** Stores the steps of a buffer: one pool of rows, the open episodes of its environments, and the objects that rows cannot contain. */

import { ReplayError } from "../../base/error.ts";
import type { Engine } from "../../memory/engine.ts";
import { StandaloneStream } from "../../memory/stream.ts";
import { engineOf, Replay } from "../../replay/replay.ts";
import type { PackedOptions } from "../../schema/constructors.ts";
import type { Writer } from "../../tables/writer.ts";
import { RowSchema } from "../rows/row-schema.ts";
import type { WholeSpec } from "../rows/step-spec.ts";
import type { RowValues } from "../rows/transition-part.ts";
import { type AppendedTransition, envIdOf } from "../transition.ts";

/** The options of a buffer's memory and random draws. */
export interface EngineOptions {
  /** The maximum memory in bytes. Default and upper limit: 4 GiB. */
  readonly maxBytes?: number;
  /** The seed of all random draws. The same seed and calls produce the same transitions. Pass a bigint below 2^64 for more than 53 bits. Default: 0. */
  readonly seed?: number | bigint;
  /**
   * Whether to compress the frames that rows share, without loss. This applies to states and actions of 256 bytes and more, and to each frame of a stack. Pass
   * true, or options with the expected compression ratio (4 with true), from which the memory for `capacity` is computed. Screens of games take 4 to 60 times
   * less memory; camera images and noise do not shrink. The format of files does not change. Default: false.
   */
  readonly packed?: boolean | PackedOptions;
  /** Another build of the core, such as `reprise/core.wasm` if the host forbids compiling. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
}

/** An open episode of an environment, or of a file that is being read. */
export interface Env {
  readonly id: unknown;
  /** The number of the episode, which is never reused for another episode. */
  readonly number: number;
  readonly stream: StandaloneStream;
  /** The number of steps that the episode's window keeps; 0 for all steps. */
  readonly keep: number;
  /** The number of steps in the episode's window. */
  length: number;
  /** The rows of the episode's last step and of the step before it; 0 if there is no such step. */
  row: number;
  previousRow: number;
}

export class Steps {
  readonly schema: RowSchema;
  readonly engine: Engine;
  /** The index of each leaf of the row, by the leaf's path. */
  readonly leafIndices: ReadonlyMap<string, number>;
  /** The number of items (or, for whole episodes, single transitions) that will be stored when the open episodes end. */
  owed = 0;
  /** The writer's only lane, which all episodes use in turn, and the function that appends the schema's current step to it. */
  readonly #lane: number;
  readonly #append: () => void;
  readonly #keep: number;
  readonly #envs = new Map<unknown, Env>();
  /** The streams of ended episodes, for reuse. */
  readonly #freeStreams: StandaloneStream[] = [];
  #openCount = 0;

  /** @param keep the number of steps per window; 0 for the whole episode */
  constructor(spec: WholeSpec, keep: number, { maxBytes, seed, packed = false, module }: EngineOptions) {
    this.schema = new RowSchema(spec, packed === true ? {} : packed || undefined);
    const replay = new Replay({ spec: this.schema.row, maxBytes, seed, module });
    this.engine = engineOf(replay);
    this.leafIndices = new Map(this.engine.layout.leaves.map(({ path, index }) => [path, index]));
    // Error messages must name the buffer's option, which differs from the engine's option.
    this.engine.core.remedy = "lower capacity";
    // The scratch memory is reserved now, so that stored steps can be read when memory is full.
    this.engine.core.scratch(scratchOf(this.engine));
    const writer = replay.writer({ keep: 1, items: [] }) as Writer<unknown>;
    const { step } = this.schema;
    this.#lane = writer.streams[0] as number;
    this.#append = () => writer.append(step);
    this.#keep = keep;
  }

  /** The environments with an open episode. */
  get envs(): ReadonlyMap<unknown, Env> {
    return this.#envs;
  }

  /** Returns the open episode that a transition continues. */
  running(transition: AppendedTransition): Env | undefined {
    return this.#envs.get(envIdOf(transition));
  }

  /**
   * Appends a step to an environment's open episode. O(bytes)
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY. In each case, nothing has changed
   */
  append(transition: AppendedTransition): Env {
    const { schema } = this;
    const record = schema.write(transition);
    const runningEnv = this.running(transition);
    const env = runningEnv ?? this.open(envIdOf(transition), this.#keep);
    try {
      this.#step(env, record);
    } catch (error) {
      if (runningEnv === undefined) this.close(env);
      throw schema.explain(error);
    }
    if (runningEnv === undefined) this.#envs.set(env.id, env);
    return env;
  }

  /** Appends a step to an episode of a file, whose extras may have other forms. @throws the errors of `append` */
  appendConverted(env: Env, transition: AppendedTransition): void {
    const { schema } = this;
    const record = schema.write(transition, schema.matchingExtras(transition));
    try {
      this.#step(env, record);
    } catch (error) {
      throw schema.explain(error);
    }
  }

  /** Checks whether a step could be appended, by appending it to a temporary episode. Changes nothing. @throws the errors of `append` */
  check(transition: AppendedTransition): void {
    const envId = Symbol();
    this.end(this.append({ ...transition, envId }));
  }

  /** Opens an episode that does not belong to an environment yet. @throws ReplayError OUT_OF_MEMORY */
  open(id: unknown, keep: number): Env {
    const freeStream = keep === this.#keep ? this.#freeStreams.pop() : undefined;
    const stream = freeStream ?? new StandaloneStream(this.engine, keep);
    return { id, number: this.#openCount++, stream, keep, length: 0, row: 0, previousRow: 0 };
  }

  /** Appends the schema's current step to an episode. */
  #step(env: Env, record: RowValues | undefined): void {
    this.mayGrow(env);
    env.stream.reserve(1);
    env.stream.lend(this.#lane);
    try {
      this.#append();
    } finally {
      env.stream.take(this.#lane);
    }
    this.onAppend(env, record);
  }

  /**
   * Checks that an episode can have another step. @throws ReplayError OUT_OF_MEMORY if an episode that keeps all its steps has reached the maximum length of an
   * item
   */
  mayGrow(env: Env): void {
    if (env.keep === 0 && env.length === MAX_STEPS)
      throw new ReplayError("OUT_OF_MEMORY", "an episode can have at most 16,777,215 steps. Call stopCurrentEpisode()");
  }

  /** Records the step that was appended to an episode. */
  onAppend(env: Env, record: RowValues | undefined): void {
    env.length = env.stream.length;
    env.previousRow = env.row;
    env.row = env.stream.newest;
    this.engine.objectStore.set(env.row, record);
    this.engine.changed();
  }

  /** Ends an episode that does not belong to an environment. */
  close(env: Env): void {
    if (env.keep === this.#keep) {
      env.stream.reset();
      this.#freeStreams.push(env.stream);
    } else env.stream.close();
    this.engine.changed();
  }

  /** Ends an environment's episode. The episode's steps remain while items contain them. */
  end(env: Env): void {
    this.#envs.delete(env.id);
    this.close(env);
  }

  /** The number of bytes in use. */
  get bytes(): number {
    return this.engine.bytes;
  }
}

/** The maximum number of rows that are read together. If rows are large, fewer are read. */
const CHUNK = 64;
const CHUNK_BYTES = 1 << 19;

/** Returns the number of single rows that are read together. */
export function chunkOf({ layout }: Engine): number {
  return Math.max(1, Math.min(CHUNK, Math.floor(CHUNK_BYTES / layout.stagedBytes)));
}

/** Returns the size of the scratch memory for reading: the values and a list of steps for each leaf, and the columns of the draw. */
function scratchOf(engine: Engine): number {
  const { stagedBytes, leaves } = engine.layout;
  return chunkOf(engine) * (stagedBytes + 32 * leaves.length + 256) + 4096;
}

/** The maximum number of steps in an item. */
const MAX_STEPS = 0xffffff;
