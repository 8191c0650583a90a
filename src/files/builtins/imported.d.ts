/** The target of `#builtins` in package.json's `imports`. */
declare module "#builtins" {
  export const builtins: { readonly [name: string]: unknown };
}
