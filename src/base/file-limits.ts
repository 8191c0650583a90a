/** Limits of files that someone else wrote. Real files are far below them, and a hostile file takes no more memory or stack than they allow. */

/** Default of the option `maxBytes`: bytes that a reader keeps of one file. */
export const MAX_SOURCE_BYTES = 2 ** 30;

/** Bytes of Minari's metadata.json, and of the manifest in the head of a log. */
export const MAX_METADATA_BYTES = 2 ** 26;
export const MAX_MANIFEST_BYTES = 2 ** 20;

/** Groups within groups, of HDF5 files and NPZ archives: deeper ones lead in a circle. */
export const MAX_GROUP_DEPTH = 16;

/** Structs and lists of Thrift, the encoding of Parquet's own structures. */
export const MAX_THRIFT_DEPTH = 24;

/** Values and specs in lines of JSON. */
export const MAX_JSONL_DEPTH = 32;

/** Features of TFDS. */
export const MAX_FEATURE_DEPTH = 64;

/** Any JSON: every later reader of its values calls itself once per level. */
export const MAX_JSON_DEPTH = 256;
