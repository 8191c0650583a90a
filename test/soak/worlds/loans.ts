/** Tracks batches that holders keep. Each holder marks all bytes of its batch, and must find the marks for as long as it owns the batch. */
interface Releasable {
  release(): void;
  [Symbol.dispose](): void;
}

export interface Loan {
  readonly batch: Releasable;
  /** The table that lent the batch, or undefined for batches of loops and for kept batches. */
  readonly table: string | undefined;
  readonly bytes: readonly Uint8Array[];
  /** A copy of the marked bytes, which must not change while the holder owns the batch. */
  readonly marked: readonly Uint8Array[];
}

/** The maximum number of batches drawn without `recycle` that are checked at the same time. */
const KEPT = 6;

export class Loans {
  readonly #held = new Set<Loan>();
  /** The loans that have ended. Releasing their batches again must do nothing. */
  #over: Loan[] = [];
  #kept: Loan[] = [];
  #marks = 0;

  /** Holds a batch that has just been drawn and compared. @throws Error if another holder has some of its memory */
  hold(batch: Releasable, table?: string): Loan {
    const bytes = [...memoryOf(batch)].map((buffer) => new Uint8Array(buffer));
    for (const other of this.#held)
      if (bytes.some(({ buffer }) => other.bytes.some((one) => one.buffer === buffer))) throw new Error("two holders of batches share memory");
    const mark = 1 + (this.#marks++ % 255);
    for (const each of bytes) each.fill(mark);
    const loan = { batch, table, bytes, marked: bytes.map((each) => each.slice()) };
    this.#held.add(loan);
    return loan;
  }

  /** Keeps a batch that was drawn without `recycle`. Nothing may ever reuse its memory. */
  keep(batch: Releasable): void {
    this.#kept.push(this.hold(batch));
    if (this.#kept.length > KEPT) this.#held.delete(this.#kept.shift() as Loan);
  }

  /** Returns the held batches, except those drawn without `recycle`. */
  get lent(): readonly Loan[] {
    return [...this.#held].filter((loan) => !this.#kept.includes(loan));
  }

  get over(): readonly Loan[] {
    return this.#over;
  }

  isHeld(loan: Loan): boolean {
    return this.#held.has(loan);
  }

  /** Records that the holder no longer reads the batch. */
  end(loan: Loan): void {
    if (!this.#held.delete(loan)) return;
    this.#over = [...this.#over.slice(-8), loan];
  }

  /** @throws Error if a batch changed while a holder owned it */
  check(): void {
    for (const { bytes, marked } of this.#held)
      if (bytes.some((each, i) => Buffer.compare(each, marked[i] as Uint8Array) !== 0)) throw new Error("a batch was overwritten that someone still holds");
  }
}

/** Returns the memory of all arrays in a batch. */
function memoryOf(batch: object): Set<ArrayBufferLike> {
  const found = new Set<ArrayBufferLike>();
  const look = (value: unknown): void => {
    if (ArrayBuffer.isView(value)) found.add(value.buffer);
    else if (typeof value === "object" && value !== null) for (const each of [(value as { data?: unknown }).data, ...Object.values(value)]) look(each);
  };
  const { steps, lengths, info, nStep, mask, keys, observation, nextObservation, returns, terminated } = batch as { readonly [name: string]: unknown };
  for (const part of [steps, lengths, info, nStep, mask, keys, observation, nextObservation, returns, terminated]) look(part);
  return found;
}
