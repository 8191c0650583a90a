/** Declares the types of the package, which does not contain any. */
declare module "h5wasm-plugins" {
  /** The URL of the package. Its folder `plugins` contains one file per plugin. */
  export const base_url: string;
}
