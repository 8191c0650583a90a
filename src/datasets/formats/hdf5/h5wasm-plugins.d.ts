/** The package has no types of its own. */
declare module "h5wasm-plugins" {
  /** The URL of the package. Its folder `plugins` contains one file per plugin. */
  export const base_url: string;
}
