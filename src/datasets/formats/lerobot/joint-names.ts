/** A type of its own, since the module that uses it most imports optional packages, whose types a program may lack. */

/** Names of a vector's elements, perhaps in groups: `{ motors: ["a", "b"] }`. */
export type FeatureNames = readonly string[] | { readonly [group: string]: readonly string[] };
