/** Names of a vector's elements, perhaps in groups: `{ motors: ["a", "b"] }`. */
export type FeatureNames = readonly string[] | { readonly [group: string]: readonly string[] };
