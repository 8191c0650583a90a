/** Defines names and numbers of TensorFlow's StructuredValue, and of its file. */

/** The suffix that is appended to the name of a file of records to form the name of its spec file. */
export const SPEC_ENDING = ".spec";

/** The number of the field none_value in StructuredValue. The constants below are those of other fields. */
export const NONE = 1;
export const TENSOR_SPEC = 33;
export const BOUNDED_TENSOR_SPEC = 35;
export const LIST = 51;
export const TUPLE = 52;
export const DICT = 53;
export const NAMED_TUPLE = 54;
