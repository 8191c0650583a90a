/** Files' bytes, as the bundler puts them in. */
declare module "*.parquet" {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}
declare module "*.hdf5" {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}
declare module "*.bin" {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}
/** Made by the build: every subpath of the package that is JavaScript. */
declare module "subpaths" {
  export const subpaths: { readonly [subpath: string]: object };
}
/** Made by the build: the recorded cases of test/conformance/tfagents, by the names of their files; as text, which no bundler has to look through. */
declare module "recorded" {
  export const recorded: { readonly [file: string]: string };
}
