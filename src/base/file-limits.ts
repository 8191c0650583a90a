/** Limits for files from other programs. Real files stay far below these limits. A hostile file cannot use more memory or stack than the limits allow. */

/** The default of the option `maxBytes`, the maximum number of bytes that a reader keeps per file. */
export const MAX_SOURCE_BYTES = 2 ** 30;

/** The maximum number of bytes of Minari's metadata.json, and of the manifest in the head of a log. */
export const MAX_METADATA_BYTES = 2 ** 26;
export const MAX_MANIFEST_BYTES = 2 ** 20;

/** The maximum nesting of groups, for example in HDF5 files and NPZ archives. Deeper groups probably form a cycle, and are rejected. */
export const MAX_GROUP_DEPTH = 16;

/** The maximum nesting of structs and lists in Thrift, the encoding of Parquet's own structures. */
export const MAX_THRIFT_DEPTH = 24;

/** The maximum nesting of values and specs in JSON Lines files. */
export const MAX_JSONL_DEPTH = 32;

/** The maximum nesting of TFDS features. */
export const MAX_FEATURE_DEPTH = 64;

/** The maximum nesting of any JSON. Code that reads the values later recurses once per level. */
export const MAX_JSON_DEPTH = 256;
