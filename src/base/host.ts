/**
 * Declares the host types that the package's declarations mention. With these types, the declarations are valid without lib "dom" and without @types/node. If
 * the host has its own types, they merge with these. Also loads the type library for `using`.
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
