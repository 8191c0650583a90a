/** Implements the room's connection to its worker: requests and their answers, and messages from the worker. */
import { startWorker } from "../parts/worker.ts";
import type { Step } from "./demonstrations.ts";
import type { FromWorker, Name, Questions, Saved, ToWorker } from "./messages.ts";

/** The maximum time that a leaving worker may take to save its data, in milliseconds. */
const LEAVE_MS = 2000;

/** Messages that the worker sends without a request. */
export interface Listener {
  saved(saved: Saved): void;
  trouble(error: Error): void;
  learning(told: { readonly done: number; readonly of: number; readonly error: number }): void;
  exporting(told: { readonly episodes: number; readonly of: number }): void;
}

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

export class Recorder {
  readonly #worker: Worker;
  readonly #end = new AbortController();
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;

  constructor(listener: Listener) {
    this.#worker = startWorker("record/worker.js", this.#end.signal);
    this.#worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => this.#take(data, listener));
    this.#worker.addEventListener("error", ({ message }) => {
      const error = new Error(message || "The room's worker could not be started");
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
      listener.trouble(error);
    });
  }

  /** @throws Error with a sentence for the user */
  ask<N extends Name>(name: N, ...args: Parameters<Questions[N]>): Promise<ReturnType<Questions[N]>> {
    const id = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ type: "ask", id, name, args } as ToWorker);
    });
  }

  /** Sends a step. The worker acknowledges it with `saved`. */
  step(step: Step): void {
    this.#send({ type: "step", step });
  }

  /** Ends training or export. */
  stop(): void {
    this.#send({ type: "stop" });
  }

  /** Saves the data, and ends the worker. */
  async leave(): Promise<void> {
    const late = new Promise<void>((resolve) => setTimeout(resolve, LEAVE_MS));
    await Promise.race([this.ask("leave").catch(() => {}), late]);
    this.#end.abort();
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  #take(message: FromWorker, listener: Listener): void {
    if (message.type === "answer" || message.type === "refusal") this.#answered(message);
    else if (message.type === "saved") listener.saved(message.saved);
    else if (message.type === "trouble") listener.trouble(new Error(message.message));
    else if (message.type === "learning") listener.learning(message);
    else listener.exporting(message);
  }

  #answered(message: FromWorker & { readonly type: "answer" | "refusal" }): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === "answer") waiting?.resolve(message.value as never);
    else waiting?.reject(Object.assign(new Error(message.message), { code: message.code }));
  }
}
