/**
 * Defines the type of joint names. It is in a separate module, because the module that mainly uses it imports optional packages, whose types a program may
 * lack.
 */

/** The names of a vector's elements, optionally in groups such as `{ motors: ["a", "b"] }`. */
export type FeatureNames = readonly string[] | { readonly [group: string]: readonly string[] };
