/** Declares the part of `node:http2` that this package uses, in Node, Deno and Bun. */

import { ReplayError } from "../../base/error.ts";
import { builtin, hasBuiltins } from "../../files/builtins/builtins.ts";

export type Headers = { readonly [name: string]: string | string[] | number | undefined };

interface Emitter {
  // biome-ignore lint/suspicious/noExplicitAny: events of all kinds
  on(event: string, listener: (...values: any[]) => void): unknown;
}

export interface Http2Stream extends Emitter {
  readonly destroyed: boolean;
  /** Whether the stream waits for other streams to end, because the server limits the number of simultaneous streams. */
  readonly pending?: boolean;
  write(bytes: Uint8Array): boolean;
  end(): void;
  /** @param code an HTTP/2 error code */
  close(code?: number): void;
}

export interface Http2Session extends Emitter {
  readonly closed: boolean;
  readonly destroyed: boolean;
  request(headers: { readonly [name: string]: string }): Http2Stream;
  setLocalWindowSize?(bytes: number): void;
  /** @returns whether the ping was sent */
  ping?(onAnswer: (error: Error | null) => void): boolean;
  ref?(): void;
  unref?(): void;
  close(): void;
  destroy(error?: Error): void;
}

export interface Http2 {
  connect(authority: string, options: object): Http2Session;
}

/** Loads the runtime's HTTP/2 module. @throws ReplayError UNSUPPORTED if the runtime has none */
export async function http2(): Promise<Http2> {
  if (!hasBuiltins)
    throw new ReplayError(
      "UNSUPPORTED",
      "this runtime does not support HTTP/2 connections. Connect to the Reverb server from Node, Deno or Bun. A page can connect to that program with reprise/remote",
    );
  return await builtin<Http2>("node:http2");
}
