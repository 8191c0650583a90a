/** Declares the package h5wasm for options. The package's own types are not used, since it may not be installed. */

/** The module of the package: `import * as h5wasm from …`. */
export interface H5wasm {
  readonly ready: Promise<unknown>;
}
