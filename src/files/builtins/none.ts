/** What package.json's `#builtins` is elsewhere. */
export const builtins: { readonly [name: string]: unknown } = {};
