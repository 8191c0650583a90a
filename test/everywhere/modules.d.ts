/** Files' bytes, as the bundler puts them in. */
declare module "*.parquet" {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}
declare module "*.hdf5" {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}
/** Made by the build: every subpath of the package that is JavaScript. */
declare module "subpaths" {
  export const subpaths: { readonly [subpath: string]: object };
}
