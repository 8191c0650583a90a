/** Implements one stream of samples, which requests more samples as samples are consumed, and reconnects if the connection is lost. */
import { ReplayError } from "../base/error.ts";
import { BackOff } from "./back-off.ts";
import type { PackedItem } from "./decode-item.ts";
import type { Call } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { DEADLINE_EXCEEDED, INTERNAL, RESOURCE_EXHAUSTED, RpcError, UNAVAILABLE } from "./grpc/status.ts";
import type { SampleInfoMessage } from "./wire/item.ts";
import { sampleRequest } from "./wire/requests.ts";
import { readSampleResponse } from "./wire/responses.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

export const METHOD = "SampleStream";
/** The server's message if the rate limiter allows no sample or no insert in time. Any other message with the same status is an error. */
const TIMED_OUT = "Rate Limiter: Timeout exceeded before the right to insert was acquired.";

export interface StreamItem extends PackedItem {
  readonly stream: SampleStream;
}

/** The state that all streams of a sampler share. */
export interface StreamContext {
  readonly channel: Channel;
  readonly table: string;
  /** The time in milliseconds for which the server's rate limiter may delay a sample; -1 for no limit. */
  readonly timeoutMs: number;
  /** The maximum number of samples per stream that were requested and are not consumed yet. */
  readonly inFlight: number;
  /** The maximum number of samples that one call to the server requests. */
  readonly perStream: number;
  readonly reconnectTimeoutMs: number;
  /** Returns how many of the unrequested samples the stream may request, at most `max`. A negative `max` returns requested samples that will not arrive. */
  grant(max: number): number;
  receive(stored: StreamItem): void;
  /** Runs when the rate limiter has allowed no sample in time. The stream's requested samples must then be requested again. */
  onTimeout(): void;
  onError(error: unknown): void;
}

export class SampleStream {
  readonly #context: StreamContext;
  readonly #backOff: BackOff;
  #call: Call | undefined;
  /** Whether a call is being opened, immediately or after a delay. */
  #opening = false;
  #stopPause = () => {};
  #hasEnded = false;
  /**
   * The number of samples that were requested but have not arrived, of samples that arrived but were not consumed, and of samples that this call may still
   * request.
   */
  #requested = 0;
  #unread = 0;
  #quota: number;
  /** The sample whose parts are arriving. */
  #info: SampleInfoMessage | undefined;
  #chunks: ChunkMessage[] = [];
  /** The number of bytes of the sample's messages so far. */
  #bytes = 0;

  constructor(context: StreamContext) {
    this.#context = context;
    this.#quota = context.perStream;
    this.#backOff = new BackOff(context.reconnectTimeoutMs);
  }

  /** Whether the stream waits for samples. */
  get isWaiting(): boolean {
    return this.#requested > 0;
  }

  /** Requests more samples if at least half of the permitted samples in flight have been consumed. */
  requestMore(): void {
    if (this.#hasEnded || this.#opening) return;
    const free = this.#context.inFlight - this.#requested - this.#unread;
    if (free < this.#context.inFlight / 2) return;
    if (this.#quota === 0) {
      // A new call replaces a call that has delivered its share.
      if (this.#requested > 0) return;
      this.#call?.finish();
      this.#call = undefined;
      this.#quota = this.#context.perStream;
    }
    const samples = this.#context.grant(Math.min(free, this.#quota));
    if (samples === 0) return;
    this.#requested += samples;
    if (this.#call !== undefined) this.#send(this.#call, samples);
    else this.#open();
  }

  /** Runs when a sample of this stream was consumed. */
  onRead(): void {
    this.#unread--;
    this.requestMore();
  }

  /** Runs when all samples were returned. */
  finish(): void {
    this.#hasEnded = true;
    this.#stopPause();
    this.#call?.finish();
  }

  /** Ends the call, so the server draws no more samples for it. Samples in flight must be requested again. */
  close(): void {
    this.#hasEnded = true;
    this.#stopPause();
    this.#call?.cancel();
    this.#returnGrant();
  }

  #returnGrant(): void {
    this.#context.grant(-this.#requested);
    this.#requested = 0;
  }

  #send(call: Call, samples: number): void {
    const { table, timeoutMs } = this.#context;
    this.#quota -= samples;
    // To the server, 0 means no limit.
    call.send(sampleRequest({ table, samples, timeout: timeoutMs === 0 ? 1 : timeoutMs }, HEAD));
  }

  #open(): void {
    this.#opening = true;
    this.#info = undefined;
    this.#chunks = [];
    this.#bytes = 0;
    let thisCall: Call | undefined;
    // Ignore a call that was replaced by another call.
    const isOld = () => thisCall !== undefined && this.#call !== thisCall;
    const message = (bytes: Uint8Array) => {
      if (!isOld()) this.#onMessage(bytes, thisCall as Call);
    };
    const end = (error: unknown) => {
      if (isOld()) return;
      this.#call = undefined;
      this.#opening = false;
      if (!this.#hasEnded) this.#onEnd(error);
    };
    this.#context.channel.call(METHOD, { message, end }).then((call) => {
      thisCall = call;
      this.#opening = false;
      if (this.#hasEnded) {
        call.cancel();
        return;
      }
      this.#backOff.onOpen();
      this.#call = call;
      this.#send(call, this.#requested);
    }, end);
  }

  #onMessage(bytes: Uint8Array, { maxMessageBytes }: Call): void {
    this.#bytes += bytes.length;
    if (this.#bytes > maxMessageBytes) throw this.#rpcError(RESOURCE_EXHAUSTED, `a sample has more than ${maxMessageBytes} bytes (maxMessageBytes)`);
    for (const { info, chunks, isLast } of readSampleResponse(bytes)) {
      this.#info ??= info;
      if (this.#chunks.length === 0) this.#chunks = chunks as ChunkMessage[];
      // An item may have more chunks than a call can have arguments.
      else for (const chunk of chunks) this.#chunks.push(chunk);
      if (!isLast) continue;
      const sampleInfo = this.#info;
      const all = this.#chunks;
      this.#info = undefined;
      this.#chunks = [];
      this.#bytes = 0;
      if (this.#requested === 0) throw this.#rpcError(INTERNAL, "it sends more samples than were requested");
      if (sampleInfo === undefined) throw new ReplayError("CORRUPT", "a sample arrived without its item");
      this.#backOff.reset();
      this.#requested--;
      this.#unread++;
      this.#context.receive({ info: sampleInfo, chunks: all, stream: this });
    }
  }

  #rpcError(status: number, details: string): RpcError {
    return new RpcError(this.#context.channel.address, METHOD, status, details);
  }

  #onEnd(error: unknown): void {
    const { timeoutMs } = this.#context;
    this.#quota = this.#context.perStream;
    if (error === undefined && this.#requested === 0) return;
    if (error instanceof RpcError && error.status === DEADLINE_EXCEEDED) {
      if (timeoutMs >= 0 && error.details.includes(TIMED_OUT)) {
        this.#returnGrant();
        this.#context.onTimeout();
        return;
      }
      // This error must not look like a time-out of the rate limiter, which would end loops.
      const ioError = new ReplayError("IO", error.message);
      ioError.cause = error;
      this.#context.onError(ioError);
      return;
    }
    const lossError = error ?? this.#rpcError(UNAVAILABLE, `it ended the stream with ${this.#requested} samples to come`);
    const wait = this.#backOff.after(lossError);
    if (wait === undefined) {
      this.#context.onError(lossError);
      return;
    }
    this.#opening = true;
    this.#stopPause = this.#context.channel.after(wait, () => {
      this.#opening = false;
      if (this.#hasEnded) return;
      if (this.#requested > 0) this.#open();
      else this.requestMore();
    });
  }
}
