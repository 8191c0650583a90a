/** Implements the room's connection to its worker. Calls can be stopped even if the worker is busy and receives no messages. */
import { startWorker } from "../parts/worker.ts";
import type {
  EpisodeArgument,
  EpisodeData,
  EpisodeNews,
  ExportArgument,
  ExportNews,
  ExportResult,
  OpenArgument,
  Opened,
  ReadArgument,
  ReadNews,
  ReadResult,
} from "./messages.ts";
import { Caller } from "./reading/port.ts";

/** The time in milliseconds after which a worker that does not respond to a request to stop is terminated. */
const PATIENCE_MS = 2000;

export class Client {
  readonly #signal: AbortSignal;
  #life = new AbortController();
  #caller: Caller | undefined;
  #isUsed = false;

  /** Starts the worker early, so that it is ready when the first dataset arrives. @param signal ends the worker */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
    this.#caller = this.#start();
    signal.addEventListener("abort", () => this.#end("the viewer was closed"));
  }

  open(argument: OpenArgument, signal: AbortSignal): Promise<Opened> {
    // The worker may still be busy with the previous dataset, so it is replaced.
    if (this.#isUsed) this.#end("another dataset was opened");
    this.#isUsed = true;
    return this.#call<Opened>("open", argument, signal);
  }

  read(argument: ReadArgument, signal: AbortSignal, onNews: (news: ReadNews) => void): Promise<ReadResult> {
    return this.#call<ReadResult>("read", argument, signal, onNews);
  }

  episode(argument: EpisodeArgument, signal: AbortSignal, onNews: (news: EpisodeNews) => void): Promise<EpisodeData> {
    return this.#call<EpisodeData>("episode", argument, signal, onNews);
  }

  export(argument: ExportArgument, signal: AbortSignal, onNews: (news: ExportNews) => void): Promise<ExportResult> {
    return this.#call<ExportResult>("export", argument, signal, onNews);
  }

  async #call<T>(verb: string, argument: unknown, signal: AbortSignal, onNews?: (news: never) => void): Promise<T> {
    this.#signal.throwIfAborted();
    this.#caller ??= this.#start();
    let late: ReturnType<typeof setTimeout> | undefined;
    const stop = () => {
      late = setTimeout(() => this.#end("the work was stopped. Open the dataset again"), PATIENCE_MS);
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await this.#caller.call<T>(verb, argument, { signal, onNews });
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", stop);
    }
  }

  #start(): Caller {
    this.#life = new AbortController();
    const worker = startWorker("look/worker.js", this.#life.signal);
    const caller = new Caller(worker);
    worker.addEventListener("error", ({ message }) => {
      this.#end(`the page's worker failed: ${message || "it could not be loaded"}`);
    });
    return caller;
  }

  #end(reason: string): void {
    this.#life.abort();
    this.#caller?.fail(new Error(reason));
    this.#caller = undefined;
  }
}
