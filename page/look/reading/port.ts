/** Makes calls across a MessagePort or a Worker. Each call has a promise, progress messages, and a signal that cancels the call. */

import { withoutToken } from "../../parts/without-token.ts";

/** The methods of a Worker or a MessagePort that are used here. */
export interface Port {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  start?(): void;
}

/** An error in the form in which it is sent, with its own fields, such as file and episode. */
export interface CrossedError {
  readonly name: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

interface Call {
  readonly call: number;
  readonly verb: string;
  readonly argument: unknown;
}

type Message = Call | { readonly call: number; readonly stop: true };

type Answer = { readonly call: number } & ({ readonly news: unknown } | { readonly done: unknown } | { readonly failed: CrossedError });

/** Sends progress of a call. */
export type Tell = (news: unknown) => void;

/** The implementation of a verb. */
export type Verb = (argument: never, signal: AbortSignal, tell: Tell) => Promise<unknown>;

/** Answers calls. */
export function serve(port: Port, verbs: { readonly [verb: string]: Verb }): void {
  const running = new Map<number, AbortController>();
  port.addEventListener("message", ({ data }) => {
    const message = data as Message;
    if ("stop" in message) running.get(message.call)?.abort();
    else void answer(message);
  });
  port.start?.();

  async function answer({ call, verb, argument }: Call): Promise<void> {
    const controller = new AbortController();
    running.set(call, controller);
    const reply = (answer: Answer) => port.postMessage(answer);
    try {
      const found = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
      if (found === undefined) throw new TypeError(`the worker has no command ${verb}`);
      reply({ call, done: await found(argument as never, controller.signal, (news) => reply({ call, news })) });
    } catch (error) {
      reply({ call, failed: crossed(error) });
    } finally {
      running.delete(call);
    }
  }
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onNews?: (news: never) => void;
}

/** Makes calls that `serve` answers. */
export class Caller {
  readonly #port: Port;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void; news?: (news: never) => void }>();
  #calls = 0;

  constructor(port: Port) {
    this.#port = port;
    port.addEventListener("message", ({ data }) => this.#hear(data as Answer));
    port.start?.();
  }

  /** @throws the other side's error, as an Error with its fields; the signal's reason if the call is cancelled */
  async call<T>(verb: string, argument: unknown, { signal, onNews }: CallOptions = {}): Promise<T> {
    signal?.throwIfAborted();
    const call = ++this.#calls;
    const stop = () => this.#port.postMessage({ call, stop: true });
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#waiting.set(call, { resolve: resolve as (value: unknown) => void, reject, news: onNews });
        this.#port.postMessage({ call, verb, argument });
      });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Rejects every pending call, because the other side is gone. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  #hear(answer: Answer): void {
    const waiting = this.#waiting.get(answer.call);
    if (waiting === undefined) return;
    if ("news" in answer) {
      waiting.news?.(answer.news as never);
      return;
    }
    this.#waiting.delete(answer.call);
    if ("done" in answer) waiting.resolve(answer.done);
    else waiting.reject(uncrossed(answer.failed));
  }
}

function crossed(error: unknown): CrossedError {
  if (!(error instanceof Error || error instanceof DOMException)) return { name: "Error", message: withoutToken(String(error)) };
  const fields = Object.entries(error).flatMap(([name, value]) => {
    if (typeof value === "string") return [[name, withoutToken(value)]];
    return typeof value === "number" ? [[name, value]] : [];
  });
  return { ...Object.fromEntries(fields), name: error.name, message: withoutToken(error.message) };
}

function uncrossed({ name, message, ...fields }: CrossedError): Error {
  return Object.assign(new Error(message), fields, { name });
}
