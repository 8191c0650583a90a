/** Draws items of a server's table, over one stream or several. */
import type { DrawnColumn, DrawnItem } from "../agents/sampling/sample.ts";
import { checkSampler, type Sampler, type SamplerOptions } from "../agents/sampling/sampler-options.ts";
import { ReplayError } from "../error.ts";
import { type WaitOptions, within } from "../wait.ts";
import { BackOff } from "./back-off.ts";
import { type Call, unreadable } from "./grpc/call.ts";
import type { Channel } from "./grpc/channel.ts";
import { HEAD } from "./grpc/frames.ts";
import { DEADLINE_EXCEEDED, INTERNAL, RESOURCE_EXHAUSTED, RpcError, UNAVAILABLE } from "./grpc/status.ts";
import { Chunks } from "./tensors/columns.ts";
import type { WireSignature } from "./tensors/signature.ts";
import type { SampleInfoMessage } from "./wire/item.ts";
import { sampleRequest } from "./wire/requests.ts";
import { readSampleResponse } from "./wire/responses.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/** As Reverb's client has it. */
const IN_FLIGHT = 100;
/** What the server says where the rate limiter lets nothing pass in time. */
const TIMED_OUT = "Timeout exceeded before the right to";

interface Stored {
  readonly info: SampleInfoMessage;
  readonly chunks: readonly ChunkMessage[];
  readonly stream: SampleStream;
}

interface Waiting {
  resolve(item: DrawnItem | undefined): void;
  reject(reason: unknown): void;
}

/** What all streams of a sampler share. */
interface Shared {
  readonly channel: Channel;
  readonly table: string;
  readonly timeoutMs: number;
  readonly inFlight: number;
  readonly perStream: number;
  readonly reconnectTimeoutMs: number;
  /** Takes at most so many of the samples that are still to be asked for. */
  grant(most: number): number;
  came(stored: Stored): void;
  failed(error: unknown): void;
}

export class StreamSampler implements Sampler {
  readonly #signature: () => Promise<WireSignature | undefined>;
  readonly #shared: Shared;
  readonly #streams: SampleStream[];
  /** Samples that came and were not asked for yet, as they came: still compressed. */
  readonly #stored: Stored[] = [];
  readonly #waiting: Waiting[] = [];
  #order: readonly number[] | undefined;
  #knowsOrder = false;
  /** Samples to be asked for, and to be given. */
  #unasked: number;
  #left: number;
  #error: unknown;
  #begun = false;
  #closed = false;

  /** @throws RangeError, TypeError */
  constructor(channel: Channel, table: string, options: SamplerOptions, reconnectTimeoutMs: number, signature: () => Promise<WireSignature | undefined>) {
    const {
      maxSamples = -1,
      rateLimiterTimeoutMs = -1,
      maxInFlightSamplesPerWorker = IN_FLIGHT,
      numWorkersPerIterator = 1,
      maxSamplesPerStream = -1,
    } = checkSampler(options);
    const all = maxSamples < 0 ? Number.POSITIVE_INFINITY : maxSamples;
    this.#signature = signature;
    this.#unasked = all;
    this.#left = all;
    this.#shared = {
      channel,
      table,
      timeoutMs: rateLimiterTimeoutMs,
      inFlight: maxInFlightSamplesPerWorker,
      perStream: maxSamplesPerStream < 0 ? Number.POSITIVE_INFINITY : maxSamplesPerStream,
      reconnectTimeoutMs,
      grant: (most) => {
        const granted = Math.min(most, this.#unasked);
        this.#unasked -= granted;
        return granted;
      },
      came: (stored) => {
        this.#stored.push(stored);
        this.#serve();
      },
      failed: (error) => {
        this.#error ??= error;
        this.#serve();
      },
    };
    this.#streams = Array.from({ length: Math.max(1, numWorkersPerIterator) }, () => new SampleStream(this.#shared));
  }

  /**
   * The next item. What is on its way when the sampler is closed counts as sampled: `maxInFlightSamplesPerWorker` bounds it.
   * @throws ReplayError TIMEOUT where the rate limiter lets none pass in time · NOT_FOUND, CLOSED, IO, CORRUPT, or the signal's reason
   */
  async next({ signal }: Pick<WaitOptions, "signal"> = {}): Promise<DrawnItem | undefined> {
    signal?.throwIfAborted();
    if (this.#left === 0) return undefined;
    if (this.#closed) throw closed();
    if (!this.#knowsOrder) {
      this.#order = (await within(this.#signature(), "", { signal }))?.order;
      this.#knowsOrder = true;
    }
    if (this.#closed) throw closed();
    if (!this.#begun) {
      this.#begun = true;
      for (const stream of this.#streams) stream.ask();
    }
    return await new Promise<DrawnItem | undefined>((resolve, reject) => {
      const aborted = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        resolve: (item) => {
          signal?.removeEventListener("abort", aborted);
          resolve(item);
        },
        reject: (reason) => {
          signal?.removeEventListener("abort", aborted);
          reject(reason);
        },
      };
      signal?.addEventListener("abort", aborted);
      this.#waiting.push(waiting);
      this.#serve();
    });
  }

  close(): void {
    this.#closed = true;
    for (const stream of this.#streams) stream.close();
    this.#stored.length = 0;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(new ReplayError("CLOSED", "this sampler was closed while it waited for an item"));
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      if (this.#left === 0) {
        this.#waiting.shift()?.resolve(undefined);
        continue;
      }
      const stored = this.#stored.shift();
      if (stored === undefined && this.#error === undefined) return;
      const waiting = this.#waiting.shift() as Waiting;
      if (stored === undefined) {
        waiting.reject(this.#error);
        continue;
      }
      this.#left--;
      if (this.#left === 0) for (const stream of this.#streams) stream.finish();
      else stored.stream.given();
      try {
        waiting.resolve(this.#item(stored));
      } catch (error) {
        waiting.reject(unreadable(this.#shared.channel.address, "SampleStream", error));
      }
    }
  }

  #item({ info: { item, probability, tableSize }, chunks }: Stored): DrawnItem {
    const read = new Chunks(chunks);
    const columns = item.columns.map((column): DrawnColumn => read.column(column));
    const order = this.#order;
    const info = { key: item.key, probability, tableSize, priority: item.priority, timesSampled: item.timesSampled };
    if (order === undefined || order.length !== columns.length) return { info, columns };
    const sorted = columns.slice();
    for (let i = 0; i < order.length; i++) sorted[order[i] as number] = columns[i] as DrawnColumn;
    return { info, columns: sorted };
  }
}

/** One stream: asks for some samples, then for more as they are given on. A lost connection is made anew. */
class SampleStream {
  readonly #shared: Shared;
  readonly #backOff: BackOff;
  #call: Call | undefined;
  #opening = false;
  /** Until the next attempt, after the connection was lost. */
  #retry: ReturnType<typeof setTimeout> | undefined;
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

  /** Asks for more, once half of what may be on its way is gone. */
  ask(): void {
    if (this.#over || this.#opening || this.#retry !== undefined) return;
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
    clearTimeout(this.#retry);
    this.#call?.finish();
  }

  close(): void {
    this.#over = true;
    clearTimeout(this.#retry);
    this.#call?.cancel();
  }

  #send(call: Call, samples: number): void {
    this.#room -= samples;
    call.send(sampleRequest({ table: this.#shared.table, samples, timeout: this.#shared.timeoutMs }, HEAD));
  }

  #open(): void {
    this.#opening = true;
    this.#info = undefined;
    this.#chunks = [];
    this.#bytes = 0;
    let own: Call | undefined;
    const end = (error: unknown) => {
      if (own !== undefined && this.#call !== own) return;
      this.#call = undefined;
      this.#opening = false;
      if (!this.#over) this.#lost(error);
    };
    this.#shared.channel.call("SampleStream", { message: (bytes) => this.#came(bytes, own as Call), end }).then((call) => {
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
      else this.#chunks.push(...chunks);
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
    return new RpcError(this.#shared.channel.address, "SampleStream", status, why);
  }

  #lost(error: unknown): void {
    const { table, timeoutMs } = this.#shared;
    if (error === undefined && this.#asked === 0) return;
    const ended = error ?? this.#wrong(UNAVAILABLE, `it ended the stream with ${this.#asked} samples to come`);
    const wait = this.#backOff.after(ended);
    if (wait === undefined) {
      const late = ended instanceof RpcError && ended.status === DEADLINE_EXCEEDED && ended.details.includes(TIMED_OUT);
      this.#shared.failed(late ? new ReplayError("TIMEOUT", `the rate limiter of table ${table} has let no sample pass for ${timeoutMs} ms`) : ended);
      return;
    }
    this.#room = this.#shared.perStream;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      if (this.#asked > 0) this.#open();
      else this.ask();
    }, wait);
  }
}

function closed(): ReplayError {
  return new ReplayError("CLOSED", "this sampler was closed: make a new one with client.sampler()");
}
