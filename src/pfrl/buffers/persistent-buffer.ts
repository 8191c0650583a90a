/** What both persistent buffers have: a directory that their items go to as they come. */
import { mustBe, onlyKeys } from "../../base/error.ts";
import { CLEAR, FORM, RANDOM } from "../../base/kinds.ts";
import { isPlain } from "../../schema/infer.ts";
import type { Directory } from "../../storage/index.ts";
import { capacityOf, checkEngine, ENGINE_KEYS } from "../arguments.ts";
import { BufferLog, directoryOf, type PersistenceOptions } from "../files/log.ts";
import type { Content } from "../files/sink.ts";
import { atOnce, inPieces, type Progress, type WorkOptions } from "../files/work.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import { formBytes, NOTHING } from "../store/history.ts";
import type { EngineOptions } from "../store/steps.ts";
import type { Stored } from "../store/stored.ts";
import { type BufferOptions, StoredBuffer } from "./stored-buffer.ts";

export interface PersistentOptions<S extends StepSpec = StepSpec> extends BufferOptions<S>, PersistenceOptions {
  /** Of a package that was never public. */
  readonly distributed?: false;
  readonly group?: null;
}

export interface Opened<S extends StepSpec> {
  readonly directory: Directory;
  readonly capacity: number;
  readonly persistence: PersistenceOptions;
  readonly spec: S | undefined;
  readonly engine: EngineOptions;
  /** The directory is read later, piece by piece. */
  readonly later: boolean;
}

/** Given by `open`, behind the other arguments. */
export const LATER = Symbol("later");

export abstract class PersistentBuffer<B, T> extends StoredBuffer<B, T> {
  readonly #stored: Stored;
  readonly #content: Content;
  readonly #log: BufferLog;
  readonly #opening: Generator<Progress, void>;
  /** Segments that began since it was opened. */
  #segments = 0;
  /** Whether the spec stands in this one. */
  #headed = false;

  constructor(stored: Stored, content: Content, { directory, persistence, engine, later }: Opened<StepSpec>) {
    super(stored, content);
    this.#stored = stored;
    this.#content = content;
    this.#log = new BufferLog(directory, stored.options.numSteps === 0 ? "episodes" : "transitions", persistence, engine.module);
    this.#opening = this.#open();
    stored.onAgain = () => {
      if (!this.#log.closed) this.#rewrite();
    };
    if (!later) atOnce(this.#opening);
  }

  /** Everything that was stored is on the disk once it resolves. @throws ReplayError IO, CLOSED */
  async flush(): Promise<void> {
    this.settle();
    this.#log.flush();
  }

  /** Flushes, and lets go of the directory. What is in memory can still be sampled. @throws ReplayError IO */
  close(): void {
    if (this.#log.closed) return;
    this.#stored.check();
    try {
      this.settle();
    } finally {
      this.#log.close();
    }
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Writes all stored items. */
  protected abstract writeItems(): void;

  /** Reads the directory, in pieces between which others run. */
  protected async opened(options: WorkOptions): Promise<this> {
    try {
      await inPieces(this.#opening, options);
      return this;
    } catch (error) {
      // Also where it was given up before the first piece.
      this.#log.leave();
      throw error;
    }
  }

  /** @throws ReplayError CLOSED · IO where what the call before did could not be written */
  protected override check(): void {
    this.#log.check();
  }

  /** What a file brought takes the place of what is in the directory, too. */
  protected override loaded(): void {
    this.#rewrite();
  }

  protected get closed(): boolean {
    return this.#log.closed;
  }

  /** Which segment this is: what it must hold is written again in each. */
  protected get segment(): number {
    return this.#segments;
  }

  protected write(kind: number, id: number, payload: Uint8Array): void {
    this.#head();
    this.#log.write(kind, id, payload);
  }

  /** Ends what was written as one. */
  protected settle(): void {
    const items = this.#stored.made?.items;
    const random = items?.randomState;
    if (random !== undefined && !this.#log.knows(random)) this.write(RANDOM, 0, random);
    this.#log.commit(items?.size ?? 0);
  }

  *#open(): Generator<Progress, void> {
    const { capacity } = this.#stored.options;
    yield* this.#log.replay(this.#content.sink({ max: capacity }));
    this.#log.begin(this.#stored.made?.items.randomState, () => {
      this.#headed = false;
      this.#head();
    });
  }

  /** What a segment begins with. */
  #head(): void {
    const { made } = this.#stored;
    if (this.#headed || made === undefined) return;
    this.#headed = true;
    this.#segments++;
    this.#log.write(FORM, 0, formBytes(this.#stored.form(made)));
    this.#log.write(RANDOM, 0, made.items.randomState);
  }

  /** The log begins anew, with what is there. */
  #rewrite(): void {
    this.#log.write(CLEAR, 0, NOTHING);
    this.#headed = false;
    this.#head();
    this.writeItems();
    this.settle();
  }
}

const KEYS = `dirname, capacity, ancestor, logger, distributed, group, durability, retain, segmentBytes, salvage, takeOver, ${ENGINE_KEYS}`;

/** (dirname, capacity, options), (dirname, options) or (options). @throws TypeError, RangeError · ReplayError UNSUPPORTED for what is not there */
export function persistentArguments<S extends StepSpec>(subject: string, args: readonly unknown[]): Opened<S> {
  const later = args.at(-1) === LATER;
  const given = later ? args.slice(0, -1) : [...args];
  const last = given.at(-1);
  const options = (isPlain(last) && typeof last.open !== "function" ? given.pop() : {}) as { readonly [name: string]: unknown };
  if (given.length > 2) throw mustBe(TypeError, subject, "called with a directory, a capacity and an object of options", args);
  const [dirname = options.dirname, capacity = options.capacity] = given;
  const {
    distributed = false,
    group = null,
    spec,
    maxBytes,
    seed,
    module,
    ancestor,
    logger,
    durability,
    retain,
    segmentBytes,
    salvage,
    takeOver,
  } = onlyKeys(`${subject} options`, options, KEYS) as { readonly [name: string]: unknown } & PersistentOptions<S>;
  checkEngine({ maxBytes, seed });
  if (distributed !== false || group !== null)
    throw mustBe(
      "UNSUPPORTED",
      "distributed",
      "left out: its package was never public. Give each process a directory of its own, and read them as ancestor",
      distributed,
    );
  return {
    directory: directoryOf("dirname", dirname),
    capacity: capacityOf(capacity, 1),
    persistence: { ancestor, logger, durability, retain, segmentBytes, salvage, takeOver },
    spec,
    engine: { maxBytes, seed, module },
    later,
  };
}
