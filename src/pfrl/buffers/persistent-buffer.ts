/** Implements the base of both persistent buffers: new items are written to a directory. */
import { mustBe, onlyKeys } from "../../base/error.ts";
import { CLEAR, FORM, RANDOM } from "../../base/kinds.ts";
import { isPlain } from "../../schema/infer.ts";
import type { Directory } from "../../storage/index.ts";
import { capacityOf, checkEngine, ENGINE_KEYS } from "../arguments.ts";
import { type Progress, runIncrementally, runSync, type WorkOptions } from "../files/incremental.ts";
import type { Content } from "../files/loader.ts";
import { BufferLog, directoryOf, type PersistenceOptions } from "../files/log.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import { EMPTY, encodeSchema } from "../store/history.ts";
import type { EngineOptions } from "../store/steps.ts";
import type { Stored } from "../store/stored.ts";
import { type BufferOptions, StoredBuffer } from "./stored-buffer.ts";

export interface PersistentOptions<S extends StepSpec = StepSpec> extends BufferOptions<S>, PersistenceOptions {
  /** A setting of PFRL that Reprise does not support, because it needs a package that was never published. Must be false. */
  readonly distributed?: false;
  readonly group?: null;
}

export interface PersistentArguments<S extends StepSpec> {
  readonly directory: Directory;
  readonly capacity: number;
  readonly persistence: PersistenceOptions;
  readonly spec: S | undefined;
  readonly engine: EngineOptions;
  /** Whether the constructor leaves the directory to `open`, which reads it in slices. */
  readonly isDeferred: boolean;
}

/** Tells a constructor not to read the directory, because `open` reads it in slices. `open` passes this symbol after the other arguments. */
export const DEFERRED = Symbol("later");

export abstract class PersistentBuffer<B, T> extends StoredBuffer<B, T> {
  readonly #stored: Stored;
  readonly #content: Content;
  readonly #log: BufferLog;
  readonly #opening: Generator<Progress, void>;
  /** The number of segment heads that were written since the directory was opened. */
  #segments = 0;
  /** Whether the head of the current segment was written. */
  #headed = false;

  constructor(stored: Stored, content: Content, { directory, persistence, engine, isDeferred }: PersistentArguments<StepSpec>) {
    super(stored, content);
    this.#stored = stored;
    this.#content = content;
    this.#log = new BufferLog(directory, stored.options.numSteps === 0 ? "episodes" : "transitions", persistence, engine.module);
    this.#opening = this.#open();
    stored.onReplay = () => {
      if (!this.#log.closed) this.#rewrite();
    };
    if (!isDeferred) runSync(this.#opening);
  }

  /**
   * Resolves when all stored items are on the disk.
   * @throws ReplayError IO if a file cannot be read or written
   * @throws ReplayError CLOSED after `close`, or after another buffer opened the directory
   */
  async flush(): Promise<void> {
    this.commit();
    this.#log.flush();
    await this.#log.confirm();
  }

  /** Flushes the buffer, and releases the directory. Items in memory can still be sampled. @throws ReplayError IO if a file cannot be read or written */
  close(): void {
    if (this.#log.closed) return;
    this.#stored.check();
    try {
      this.commit();
    } finally {
      this.#log.close();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Writes all stored items to the log. */
  protected abstract writeItems(): void;

  /** Reads the directory in slices between which other tasks can run. */
  protected async finishOpening(options: WorkOptions): Promise<this> {
    try {
      await runIncrementally(this.#opening, options);
      return this;
    } catch (error) {
      // The log must be released even if the task was aborted before the first slice.
      this.#log.leave();
      throw error;
    }
  }

  /**
   * Checks that the buffer is open and that the preceding call was written.
   * @throws ReplayError CLOSED after `close`, or after another buffer opened the directory
   * @throws ReplayError IO if the preceding call could not be written
   */
  protected override check(): void {
    this.#log.check();
  }

  /** Replaces the contents of the directory with the contents of the loaded file. */
  protected override onLoad(): void {
    this.#rewrite();
  }

  protected get closed(): boolean {
    return this.#log.closed;
  }

  /** A number that changes with each new segment and each rewrite of the log. A step can refer only to frames that were written under the same number. */
  protected get segment(): number {
    return this.#segments;
  }

  protected write(kind: number, id: number, payload: Uint8Array): void {
    this.#head();
    this.#log.write(kind, id, payload);
  }

  /** Writes the random state if it has changed, and ends the current group of the log. */
  protected commit(): void {
    const items = this.#stored.contents?.items;
    const random = items?.randomState;
    if (random !== undefined && !this.#log.knows(random)) this.write(RANDOM, 0, random);
    this.#log.commit(items?.size ?? 0);
  }

  *#open(): Generator<Progress, void> {
    const { capacity } = this.#stored.options;
    yield* this.#log.replay(this.#content.loader({ max: capacity }));
    this.#log.begin(this.#stored.contents?.items.randomState, () => {
      this.#headed = false;
      this.#head();
    });
  }

  /** Writes the head of the current segment, which is the spec and the random state, unless it was already written or the spec is unknown. */
  #head(): void {
    const { contents } = this.#stored;
    if (this.#headed || contents === undefined) return;
    this.#headed = true;
    this.#segments++;
    this.#log.write(FORM, 0, encodeSchema(this.#stored.schema(contents)));
    this.#log.write(RANDOM, 0, contents.items.randomState);
  }

  /** Replaces the contents of the log with the stored items. */
  #rewrite(): void {
    this.#log.write(CLEAR, 0, EMPTY);
    this.#headed = false;
    this.#head();
    this.writeItems();
    this.commit();
  }
}

const KEYS = `dirname, capacity, ancestor, logger, distributed, group, durability, retain, segmentBytes, salvage, takeOver, ${ENGINE_KEYS}`;

/** Reads (dirname, capacity, options), (dirname, options) or (options). @throws TypeError, RangeError · ReplayError UNSUPPORTED for unsupported options */
export function persistentArguments<S extends StepSpec>(subject: string, args: readonly unknown[]): PersistentArguments<S> {
  const isDeferred = args.at(-1) === DEFERRED;
  const positional = isDeferred ? args.slice(0, -1) : [...args];
  const last = positional.at(-1);
  const options = (isPlain(last) && typeof last.open !== "function" ? positional.pop() : {}) as { readonly [name: string]: unknown };
  if (positional.length > 2) throw mustBe(TypeError, subject, "called with a directory, a capacity and an object of options", args);
  const [dirname = options.dirname, capacity = options.capacity] = positional;
  const known = onlyKeys(`${subject} options`, options, KEYS) as { readonly [name: string]: unknown } & PersistentOptions<S>;
  const { distributed = false, group = null, spec, maxBytes, seed, packed, module } = known;
  const { ancestor, logger, durability, retain, segmentBytes, salvage, takeOver } = known;
  checkEngine({ maxBytes, seed, packed });
  const remedy = "Give each process its own directory, and read these directories with the option ancestor";
  if (distributed !== false || group !== null)
    throw mustBe("UNSUPPORTED", "distributed", ["omitted, because its package was never public", remedy], distributed);
  return {
    directory: directoryOf("dirname", dirname),
    capacity: capacityOf(capacity, 1),
    persistence: { ancestor, logger, durability, retain, segmentBytes, salvage, takeOver },
    spec,
    engine: { maxBytes, seed, packed, module },
    isDeferred,
  };
}
