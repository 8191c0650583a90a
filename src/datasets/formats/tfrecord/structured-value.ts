/** Defines names and numbers of TensorFlow's StructuredValue, and of its file. */

/** The ending that the name of a spec file has after the name of the records' file. */
export const SPEC_ENDING = ".spec";

/** The fields of StructuredValue. */
export const NONE = 1;
export const TENSOR_SPEC = 33;
export const BOUNDED_TENSOR_SPEC = 35;
export const LIST = 51;
export const TUPLE = 52;
export const DICT = 53;
export const NAMED_TUPLE = 54;
