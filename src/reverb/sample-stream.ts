/** One stream of samples: asks for some, then for more as they are given on. A lost connection is made anew. */
import { ReplayError } from "../base/error.ts";
import { BackOff } from "./back-off.ts";
import type { PackedItem } from "./drawn-item.ts";
import type { Call } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { DEADLINE_EXCEEDED, INTERNAL, RESOURCE_EXHAUSTED, RpcError, UNAVAILABLE } from "./grpc/status.ts";
import type { SampleInfoMessage } from "./wire/item.ts";
import { sampleRequest } from "./wire/requests.ts";
import { readSampleResponse } from "./wire/responses.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

export const METHOD = "SampleStream";
/** What the server says where the rate limiter lets nothing pass in time, of samples as well. Another text with the same status is an error. */
const TIMED_OUT = "Rate Limiter: Timeout exceeded before the right to insert was acquired.";

export interface Stored extends PackedItem {
  readonly stream: SampleStream;
}

/** What all streams of a sampler share. */
export interface Shared {
  readonly channel: Channel;
  readonly table: string;
  /** -1: for ever. */
  readonly timeoutMs: number;
  /** Samples that a stream may have asked for, or hold. */
  readonly inFlight: number;
  readonly perStream: number;
  readonly reconnectTimeoutMs: number;
  /** Takes at most so many of the samples that are still to be asked for. */
  grant(most: number): number;
  came(stored: Stored): void;
  /** The rate limiter has let nothing pass; what the stream had asked for is to be asked for again. */
  late(): void;
  failed(error: unknown): void;
}

export class SampleStream {
  readonly #shared: Shared;
  readonly #backOff: BackOff;
  #call: Call | undefined;
  /** Whether a call is being made, or is made after a while. */
  #opening = false;
  #stopPause = () => {};
  #over = false;
  /** Samples that were asked for and have not come; those that came and were not given on; those that this call may still ask for. */
  #asked = 0;
  #held = 0;
  #room: number;
  /** The sample whose parts are coming. */
  #info: SampleInfoMessage | undefined;
  #chunks: ChunkMessage[] = [];
  /** Bytes of the messages that it is in. */
  #bytes = 0;

  constructor(shared: Shared) {
    this.#shared = shared;
    this.#room = shared.perStream;
    this.#backOff = new BackOff(shared.reconnectTimeoutMs);
  }

  /** Whether it waits for samples. */
  get isWaiting(): boolean {
    return this.#asked > 0;
  }

  /** Asks for more, once half of what may be on its way is gone. */
  ask(): void {
    if (this.#over || this.#opening) return;
    const free = this.#shared.inFlight - this.#asked - this.#held;
    if (free < this.#shared.inFlight / 2) return;
    if (this.#room === 0) {
      // Another stream takes the place of one that has had its share.
      if (this.#asked > 0) return;
      this.#call?.finish();
      this.#call = undefined;
      this.#room = this.#shared.perStream;
    }
    const samples = this.#shared.grant(Math.min(free, this.#room));
    if (samples === 0) return;
    this.#asked += samples;
    if (this.#call !== undefined) this.#send(this.#call, samples);
    else this.#open();
  }

  /** One of its samples was given on. */
  given(): void {
    this.#held--;
    this.ask();
  }

  /** All samples were given. */
  finish(): void {
    this.#over = true;
    this.#stopPause();
    this.#call?.finish();
  }

  /** Ends the call: the server draws no more for it. What had not come is to be asked for again. */
  close(): void {
    this.#over = true;
    this.#stopPause();
    this.#call?.cancel();
    this.#giveBack();
  }

  #giveBack(): void {
    this.#shared.grant(-this.#asked);
    this.#asked = 0;
  }

  #send(call: Call, samples: number): void {
    const { table, timeoutMs } = this.#shared;
    this.#room -= samples;
    // To the server 0 is for ever.
    call.send(sampleRequest({ table, samples, timeout: timeoutMs === 0 ? 1 : timeoutMs }, HEAD));
  }

  #open(): void {
    this.#opening = true;
    this.#info = undefined;
    this.#chunks = [];
    this.#bytes = 0;
    let own: Call | undefined;
    // One whose place another has taken is heard no more.
    const isOld = () => own !== undefined && this.#call !== own;
    const message = (bytes: Uint8Array) => {
      if (!isOld()) this.#came(bytes, own as Call);
    };
    const end = (error: unknown) => {
      if (isOld()) return;
      this.#call = undefined;
      this.#opening = false;
      if (!this.#over) this.#ended(error);
    };
    this.#shared.channel.call(METHOD, { message, end }).then((call) => {
      own = call;
      this.#opening = false;
      if (this.#over) {
        call.cancel();
        return;
      }
      this.#backOff.opened();
      this.#call = call;
      this.#send(call, this.#asked);
    }, end);
  }

  #came(bytes: Uint8Array, { maxMessageBytes }: Call): void {
    this.#bytes += bytes.length;
    if (this.#bytes > maxMessageBytes) throw this.#wrong(RESOURCE_EXHAUSTED, `a sample comes in more than ${maxMessageBytes} bytes, which is maxMessageBytes`);
    for (const { info, chunks, isLast } of readSampleResponse(bytes)) {
      this.#info ??= info;
      if (this.#chunks.length === 0) this.#chunks = chunks as ChunkMessage[];
      // An item may have more chunks than a call has arguments.
      else for (const chunk of chunks) this.#chunks.push(chunk);
      if (!isLast) continue;
      const whole = this.#info;
      const all = this.#chunks;
      this.#info = undefined;
      this.#chunks = [];
      this.#bytes = 0;
      if (this.#asked === 0) throw this.#wrong(INTERNAL, "it sends more samples than it was asked for");
      if (whole === undefined) throw new ReplayError("CORRUPT", "a sample came without its item");
      this.#backOff.reset();
      this.#asked--;
      this.#held++;
      this.#shared.came({ info: whole, chunks: all, stream: this });
    }
  }

  #wrong(status: number, why: string): RpcError {
    return new RpcError(this.#shared.channel.address, METHOD, status, why);
  }

  #ended(error: unknown): void {
    const { timeoutMs } = this.#shared;
    this.#room = this.#shared.perStream;
    if (error === undefined && this.#asked === 0) return;
    if (error instanceof RpcError && error.status === DEADLINE_EXCEEDED) {
      if (timeoutMs >= 0 && error.details.includes(TIMED_OUT)) {
        this.#giveBack();
        this.#shared.late();
        return;
      }
      // Not the time that the rate limiter was given, with which loops end.
      const other = new ReplayError("IO", error.message);
      other.cause = error;
      this.#shared.failed(other);
      return;
    }
    const lost = error ?? this.#wrong(UNAVAILABLE, `it ended the stream with ${this.#asked} samples to come`);
    const wait = this.#backOff.after(lost);
    if (wait === undefined) {
      this.#shared.failed(lost);
      return;
    }
    this.#opening = true;
    this.#stopPause = this.#shared.channel.after(wait, () => {
      this.#opening = false;
      if (this.#over) return;
      if (this.#asked > 0) this.#open();
      else this.ask();
    });
  }
}
