/** Defines the names of joints. The type has its own module because the module that uses it most imports optional packages, whose types a program may lack. */

/** The names of a vector's elements, optionally in groups: `{ motors: ["a", "b"] }` */
export type FeatureNames = readonly string[] | { readonly [group: string]: readonly string[] };
