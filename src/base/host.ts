/**
 * What the declarations name of a host: they hold without lib "dom" and without @types/node. Where the host's own types are there, these are part of them.
 * The library of `using` comes with them.
 */
/// <reference lib="esnext.disposable" preserve="true" />

declare global {
  interface AbortSignal {}
  interface Blob {}
  interface File {}
  interface HTMLElement {}
  // biome-ignore lint/suspicious/noExplicitAny: as the host's own has it
  interface ReadableStream<R = any> {}
  interface URL {}
  namespace WebAssembly {
    interface Module {}
  }
}

/** The host's `fetch`. */
export type Fetch = typeof globalThis extends { fetch: infer F } ? F : (url: URL) => Promise<unknown>;
