/** What an actor may have on its way: the memory's end counts its blocks until they are confirmed, and says how long the next one has to wait. */
import { ReplayError } from "../base/error.ts";
import { Fifo } from "../base/fifo.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { stepsIn } from "./appender.ts";
import { CLOSE, withCloseCode } from "./channels/close-codes.ts";
import { type ResolvedLimits, Throttle } from "./limits.ts";
import { creditBytes, rowBytesOf } from "./wire/block.ts";
import type { BlockMessage, ColumnsMessage } from "./wire/messages.ts";

/** A block that is not confirmed. */
interface Unconfirmed {
  readonly number: number;
  readonly steps: number;
  /** What it counts, and the bytes of its frame. */
  readonly bytes: number;
  readonly frameBytes: number;
  readonly buffer: ArrayBuffer;
}

export class Credits {
  readonly #lanes: number;
  readonly #rowBytes: number;
  readonly #blocks = new Fifo<Unconfirmed>();
  readonly #stepThrottle = new Throttle();
  readonly #byteThrottle = new Throttle();
  #maxInFlight = 0;
  /** Infinite for a port. */
  #maxBytes = Number.POSITIVE_INFINITY;
  #steps = 0;
  #bytes = 0;

  constructor(leaves: readonly PlacedLeaf[], lanes: number) {
    this.#lanes = lanes;
    this.#rowBytes = rowBytesOf(leaves);
  }

  /** Sets what holds from now on. @param limits of a socket; a port has none, and nothing of it is refused */
  limit(maxInFlight: number, limits: ResolvedLimits | undefined): void {
    const unlimited = Number.POSITIVE_INFINITY;
    this.#maxInFlight = limits === undefined ? unlimited : maxInFlight;
    this.#maxBytes = limits?.inFlightBytes ?? unlimited;
    this.#stepThrottle.perSecond = limits?.stepsPerSecond ?? unlimited;
    this.#byteThrottle.perSecond = limits?.bytesPerSecond ?? unlimited;
  }

  /** Counts a block that has come. @throws ReplayError CORRUPT where it must not come yet */
  add(message: BlockMessage | ColumnsMessage, frameBytes: number): void {
    if (this.#steps >= this.#maxInFlight || this.#bytes >= this.#maxBytes)
      throw tooMuch(`${this.#steps} steps and ${this.#bytes} bytes are on their way without a confirmation`);
    const { number, buffer } = message;
    const steps = stepsIn(message, this.#lanes);
    const bytes = creditBytes(message, frameBytes, this.#lanes, this.#rowBytes);
    this.#blocks.push({ number, steps, bytes, frameBytes, buffer });
    this.#steps += steps;
    this.#bytes += bytes;
  }

  /** How many milliseconds a block has to wait, which counts as taken then. */
  pauseMs(number: number): number {
    const { steps, frameBytes } = this.#blocks.find((block) => block.number === number) as Unconfirmed;
    return Math.max(this.#stepThrottle.take(steps), this.#byteThrottle.take(frameBytes));
  }

  /** The next block up to this number, which is confirmed now. */
  shift(number: number): Unconfirmed | undefined {
    const { first } = this.#blocks;
    if (first === undefined || first.number > number) return undefined;
    this.#blocks.shift();
    this.#steps -= first.steps;
    this.#bytes -= first.bytes;
    return first;
  }
}

/** The error for a peer that sends more than it may. */
export function tooMuch(what: string): ReplayError {
  return withCloseCode(new ReplayError("CORRUPT", `${what}: the other end does not keep to what it may send`), CLOSE.tooMuch);
}
