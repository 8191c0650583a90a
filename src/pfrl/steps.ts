/** The steps of a buffer: one pool of rows, the running episodes of its environments, and what rows cannot hold. */
import type { Engine } from "../engine.ts";
import { internals, Replay, type ReplayError, type Writer } from "../index.ts";
import { Form } from "./form.ts";
import { Objects } from "./objects.ts";
import type { Record } from "./part.ts";
import { type PfrlExports, pfrlOf } from "./pfrl-core.ts";
import type { WholeSpec } from "./step-spec.ts";
import type { AppendedTransition } from "./transition.ts";

const { mustBe } = internals;

/** What the engine is told of a buffer. */
export interface EngineOptions {
  /** Memory at most; 4 GiB, the most that there can be, where it is left out. */
  readonly maxBytes?: number;
  /** Of every random draw: same seed and same calls, same transitions. 0 where it is left out; a bigint for more than 53 bits. */
  readonly seed?: number | bigint;
  /** Other builds than those that come with the package, for hosts that forbid compiling. */
  readonly module?: WebAssembly.Module;
  readonly pfrlModule?: WebAssembly.Module;
}

/** The running episode of an environment. */
export interface Env {
  readonly id: unknown;
  readonly handle: number;
  /** Steps of its window. */
  length: number;
}

const GRANULE = 4096;

export class Steps {
  readonly form: Form;
  readonly engine: Engine;
  readonly x: PfrlExports;
  readonly objects = new Objects();
  readonly #writer: Writer;
  readonly #keep: number;
  readonly #envs = new Map<unknown, Env>();
  /** Of episodes that ended, for the next ones. */
  readonly #spare: number[] = [];

  /** @param keep steps of a window; 0 for all of the episode */
  constructor(spec: WholeSpec, keep: number, { maxBytes, seed, module, pfrlModule }: EngineOptions) {
    this.form = new Form(spec);
    const replay = new Replay({ spec: this.form.row, maxBytes, seed, module });
    this.engine = internals.of(replay).engine;
    this.x = pfrlOf(this.engine.core, pfrlModule);
    this.#writer = replay.writer({ keep: 1 }) as Writer;
    this.#keep = keep;
  }

  /** The environments that have a running episode. */
  get envs(): ReadonlyMap<unknown, Env> {
    return this.#envs;
  }

  /**
   * One more step of an environment's running episode. O(bytes)
   * @throws ReplayError SPEC_MISMATCH, INVALID_DATA, OUT_OF_MEMORY, and then nothing changed
   */
  append(transition: AppendedTransition): Env {
    const { engine, form, x } = this;
    const record = form.write(transition);
    const { envId = 0 } = transition;
    const known = this.#envs.get(envId);
    const env = known ?? this.#open(envId);
    try {
      this.#step(env);
    } catch (error) {
      if (known === undefined) this.#spare.push(env.handle);
      throw error;
    }
    if (known === undefined) this.#envs.set(envId, env);
    this.objects.took(x.env_row(env.handle) >>> 0, record as Record | undefined, x.row_live);
    engine.changed();
    return env;
  }

  /** Ends an environment's episode; its steps stay where items hold them. */
  end(env: Env): void {
    const { engine, x } = this;
    engine.core.x.writer_end(env.handle, 0);
    x.env_shrink(env.handle);
    this.#envs.delete(env.id);
    this.#spare.push(env.handle);
    engine.changed();
  }

  /** Bytes that are taken. */
  get bytes(): number {
    return this.engine.core.x.arena_used();
  }

  #open(id: unknown): Env {
    const { core, pool } = this.engine;
    const spare = this.#spare.pop();
    if (spare !== undefined) return { id, handle: spare, length: 0 };
    const handle = core.alloc(GRANULE);
    this.x.env_init(handle, pool, this.#keep);
    return { id, handle, length: 0 };
  }

  #step(env: Env): void {
    const { engine, x } = this;
    const [stream = 0] = this.#writer.streams;
    const code = x.env_lend(env.handle, stream, this.#keep);
    if (engine.core.u8.length === 0) engine.core.refresh();
    if (code !== 0) throw code === TOO_LONG ? tooLong() : engine.core.failure(code);
    try {
      (this.#writer as Writer<unknown>).append(this.form.step);
    } finally {
      env.length = x.env_take(env.handle, stream);
    }
  }
}

/** LENGTH of the core's errors. */
const TOO_LONG = -4;

function tooLong(): ReplayError {
  return mustBe("OUT_OF_MEMORY", "an episode", "ended by its 16,777,215th step (stopCurrentEpisode)", "one more") as ReplayError;
}
