/** What a user may give for the package h5wasm; its own types are not named, for it may not be there. */

/** The package itself: `import * as h5wasm from …`. */
export interface H5wasm {
  readonly ready: Promise<unknown>;
}
