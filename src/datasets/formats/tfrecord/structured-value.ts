/** Names and numbers of TensorFlow's StructuredValue, and of the file that has it. */

/** What a spec's file is called: the name of the records' file with this at its end. */
export const SPEC_ENDING = ".spec";

/** Fields of StructuredValue. */
export const NONE = 1;
export const TENSOR_SPEC = 33;
export const BOUNDED_TENSOR_SPEC = 35;
export const LIST = 51;
export const TUPLE = 52;
export const DICT = 53;
export const NAMED_TUPLE = 54;
