/** Declares the type of the package h5wasm for options. The package's own types are not used, because it may not be installed. */

/** The module of the package, from `import * as h5wasm from …`. */
export interface H5wasm {
  readonly ready: Promise<unknown>;
}
