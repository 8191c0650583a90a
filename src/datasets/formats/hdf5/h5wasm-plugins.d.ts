/** Declares the types of the package h5wasm-plugins, which contains no types itself. */
declare module "h5wasm-plugins" {
  /** The URL of the package. Its folder `plugins` contains one file per plugin. */
  export const base_url: string;
}
