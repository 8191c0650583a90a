/**
 * Declares types of the host that the declarations name. The types make the declarations valid without lib "dom" and without @types/node. If the host's own
 * types exist, they merge with the types here. Also loads the library of `using`.
 */
/// <reference lib="esnext.disposable" preserve="true" />

declare global {
  interface AbortSignal {}
  interface Blob {}
  interface File {}
  interface HTMLElement {}
  // biome-ignore lint/suspicious/noExplicitAny: as in the host's own declaration
  interface ReadableStream<R = any> {}
  interface URL {}
  namespace WebAssembly {
    interface Module {}
  }
}

/** The host's `fetch`. */
export type Fetch = typeof globalThis extends { fetch: infer F } ? F : (url: URL) => Promise<unknown>;
