/** A batch that someone waits for: drawn as the rate limiter admits it, and its bytes are copied at once. What is drawn stays here, whatever becomes of the wait. */

import { ReplayError, show } from "../base/error.ts";
import type { WaitOptions } from "../base/wait.ts";
import type { Engine } from "../memory/engine.ts";
import type { CoreTable } from "../memory/table.ts";
import type { SampleOptions } from "./asked.ts";
import type { PartOf } from "./sample.ts";

/** What makes the batches. */
export interface DrawSource<B> {
  /** @throws for options that no draw takes, whatever there is to draw */
  check(options: SampleOptions): void;
  /** A whole batch, where so many draws pass. @param ahead whether it counts only when it is `passed` */
  sample(n: number, options: SampleOptions, ahead?: boolean): B;
  /** Counts a batch that was drawn ahead. */
  passed(batch: B): void;
  /** Some draws of a batch. */
  part(n: number, of: PartOf<B>): B;
  /** The parts of a batch as one. @param short whether some are missing */
  join(parts: readonly B[], options: SampleOptions, short: boolean): B;
}

interface Draws<B> {
  readonly engine: Engine;
  readonly core: CoreTable;
  readonly name: string;
  readonly source: DrawSource<B>;
  sure(n: number, options: SampleOptions): number;
  atOnce(n: number, options: SampleOptions): B | undefined;
}

export class AwaitedBatch<B extends { readonly count: number }> {
  readonly #draws: Draws<B>;
  readonly #n: number;
  readonly #options: SampleOptions;
  readonly #parts: B[] = [];
  #drawn = 0;

  constructor(draws: Draws<B>, n: number, options: SampleOptions) {
    this.#draws = draws;
    this.#n = n;
    this.#options = options;
  }

  /** The batch, once it is whole. Of those who wait for draws of one table the first one has all that it admits. */
  until({ signal, timeoutMs }: WaitOptions): B | Promise<B> {
    const { engine, core, name } = this.#draws;
    const what = () => `sample of ${this.#n} from table ${show(name)}${this.#drawn === 0 ? "" : `, of which ${this.#drawn} were drawn`}`;
    return engine.waiters.until(() => this.#attempt(), what, { signal, timeoutMs } as WaitOptions, core);
  }

  /** What was drawn so far, as a batch that is short; undefined where nothing was. */
  rest(): B | undefined {
    return this.#drawn === 0 ? undefined : this.#draws.source.join(this.#parts, { ...this.#options, into: undefined } as SampleOptions, true);
  }

  /** Why the wait ended, with what was drawn so far. @param signal what may have ended it: its reason is everybody's */
  ended(why: unknown, signal: AbortSignal | undefined): unknown {
    const batch = this.rest();
    if (batch === undefined) return why;
    const isOwn = why instanceof Error && why !== signal?.reason && Object.isExtensible(why) && !("batch" in why);
    return Object.assign(isOwn ? why : ownError(why), { batch });
  }

  #attempt(): B | undefined {
    const draws = this.#draws;
    const options = this.#options;
    const n = this.#n;
    if (isAtOnce(options)) return draws.atOnce(n, options);
    draws.engine.open();
    for (let k = draws.sure(n - this.#drawn, options); k > 0; k = draws.sure(n - this.#drawn, options)) {
      // Nothing has to be put together.
      const part = k === n ? draws.source.sample(n, options) : draws.source.part(k, { n, options, first: this.#parts[0] });
      if (part.count === n) return part;
      this.#parts.push(part);
      this.#drawn += part.count;
      if (this.#drawn === n) return draws.source.join(this.#parts, options, false);
    }
    if (!draws.core.canInsert(1)) throw stuck(draws.name);
    return undefined;
  }
}

/** Whether a batch means something only if it is drawn from a table as it stands. */
export function isAtOnce({ replacement, stratified }: SampleOptions): boolean {
  return replacement === false || stratified === true;
}

/** An error of the same name and message, which one wait alone has. */
function ownError(cause: unknown): Error {
  const { name, message } = Object(cause) as { readonly [key: string]: unknown };
  const error = new Error(typeof message === "string" ? message : String(cause), { cause });
  // A DOMException has its name where it cannot be changed, and takes no cause; nor is it an Error in every realm.
  return typeof name === "string" ? Object.defineProperty(error, "name", { value: name, writable: true, configurable: true }) : error;
}

function stuck(name: string): ReplayError {
  return new ReplayError("RATE_LIMITED", `the rate limiter of table ${show(name)} lets neither draws nor items pass: widen minDiff … maxDiff`);
}
