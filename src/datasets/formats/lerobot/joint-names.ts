/** Defines the names of joints. The type has a separate module, because its main user imports optional packages, whose types a program may lack. */

/** The names of a vector's elements, optionally in groups: `{ motors: ["a", "b"] }` */
export type FeatureNames = readonly string[] | { readonly [group: string]: readonly string[] };
