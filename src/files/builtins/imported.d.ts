/** Where package.json's `imports` leads to. */
declare module "#builtins" {
  export const builtins: { readonly [name: string]: unknown };
}
