/** Counts the steps and bytes of an actor's unconfirmed blocks at the Replay's end, and computes the pause before the next block. */
import { ReplayError } from "../base/error.ts";
import { Fifo } from "../base/fifo.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { stepsIn } from "./appender.ts";
import { CLOSE, withCloseCode } from "./channels/close-codes.ts";
import { type ResolvedLimits, Throttle } from "./limits.ts";
import { creditBytes, rowBytesOf } from "./wire/block.ts";
import type { BlockMessage, ColumnsMessage } from "./wire/messages.ts";

/** An unconfirmed block. */
interface Unconfirmed {
  readonly number: number;
  readonly steps: number;
  /** The number of bytes that the block counts toward the limit (`creditBytes`), and the number of bytes in its frame. */
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
  /** The maximum number of unconfirmed bytes; infinite for a port. */
  #maxBytes = Number.POSITIVE_INFINITY;
  #steps = 0;
  #bytes = 0;

  constructor(leaves: readonly PlacedLeaf[], lanes: number) {
    this.#lanes = lanes;
    this.#rowBytes = rowBytesOf(leaves);
  }

  /** Sets the limits from now on. @param limits the limits of a socket; undefined for a port, which has no limits */
  limit(maxInFlight: number, limits: ResolvedLimits | undefined): void {
    const unlimited = Number.POSITIVE_INFINITY;
    this.#maxInFlight = limits === undefined ? unlimited : maxInFlight;
    this.#maxBytes = limits?.inFlightBytes ?? unlimited;
    this.#stepThrottle.perSecond = limits?.stepsPerSecond ?? unlimited;
    this.#byteThrottle.perSecond = limits?.bytesPerSecond ?? unlimited;
  }

  /** Counts a received block. @throws ReplayError CORRUPT if the earlier blocks had already reached a limit */
  add(message: BlockMessage | ColumnsMessage, frameBytes: number): void {
    if (this.#steps >= this.#maxInFlight || this.#bytes >= this.#maxBytes) throw tooMuch(`${this.#steps} steps and ${this.#bytes} bytes are unconfirmed`);
    const { number, buffer } = message;
    const steps = stepsIn(message, this.#lanes);
    const bytes = creditBytes(message, frameBytes, this.#lanes, this.#rowBytes);
    this.#blocks.push({ number, steps, bytes, frameBytes, buffer });
    this.#steps += steps;
    this.#bytes += bytes;
  }

  /** Returns how many milliseconds a block has to wait, and counts the block as appended after that time. */
  pauseMs(number: number): number {
    const { steps, frameBytes } = this.#blocks.find((block) => block.number === number) as Unconfirmed;
    return Math.max(this.#stepThrottle.take(steps), this.#byteThrottle.take(frameBytes));
  }

  /** Removes and returns the oldest block, if its number is at most `number`. */
  shift(number: number): Unconfirmed | undefined {
    const { first } = this.#blocks;
    if (first === undefined || first.number > number) return undefined;
    this.#blocks.shift();
    this.#steps -= first.steps;
    this.#bytes -= first.bytes;
    return first;
  }
}

/** Returns the error for a peer that exceeds its limits. */
export function tooMuch(what: string): ReplayError {
  return withCloseCode(new ReplayError("CORRUPT", `${what}. The other end exceeds its limits`), CLOSE.tooMuch);
}
