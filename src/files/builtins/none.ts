/** Exports the target of package.json's `#builtins` outside Node. */
export const builtins: { readonly [name: string]: unknown } = {};
