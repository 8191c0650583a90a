/** The package has no types of its own. */
declare module "h5wasm-plugins" {
  /** Where the package is: its folder `plugins` holds a file per plugin. */
  export const base_url: string;
}
