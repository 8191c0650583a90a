/** What is used of `node:http2`, in Node, Deno and Bun. */

import { ReplayError } from "../../base/error.ts";
import { builtin, hasBuiltins } from "../../files/builtins/builtins.ts";

export type Headers = { readonly [name: string]: string | string[] | number | undefined };

interface Emitter {
  // biome-ignore lint/suspicious/noExplicitAny: events of all kinds
  on(event: string, listener: (...values: any[]) => void): unknown;
}

export interface Http2Stream extends Emitter {
  readonly destroyed: boolean;
  /** Whether it waits for others to end, since the server takes no more of them at a time. */
  readonly pending?: boolean;
  write(bytes: Uint8Array): boolean;
  end(): void;
  /** @param code of HTTP/2's errors */
  close(code?: number): void;
}

export interface Http2Session extends Emitter {
  readonly closed: boolean;
  readonly destroyed: boolean;
  request(headers: { readonly [name: string]: string }): Http2Stream;
  setLocalWindowSize?(bytes: number): void;
  /** @returns whether it was sent */
  ping?(onAnswer: (error: Error | null) => void): boolean;
  ref?(): void;
  unref?(): void;
  close(): void;
  destroy(error?: Error): void;
}

export interface Http2 {
  connect(authority: string, options: object): Http2Session;
}

/** @throws ReplayError UNSUPPORTED where there is none */
export async function http2(): Promise<Http2> {
  if (!hasBuiltins)
    throw new ReplayError(
      "UNSUPPORTED",
      "this runtime has no HTTP/2 connections: speak to a Reverb server from Node, Deno or Bun, and from a page to that program (reprise/remote)",
    );
  return await builtin<Http2>("node:http2");
}
