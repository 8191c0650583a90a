/** Defines the field numbers of TensorFlow's StructuredValue, and the names of files with such a value. */

/** The suffix of spec files, which is appended to the name of the file of records. */
export const SPEC_ENDING = ".spec";

/** The number of the field none_value in StructuredValue. The constants below are the numbers of other fields. */
export const NONE = 1;
export const TENSOR_SPEC = 33;
export const BOUNDED_TENSOR_SPEC = 35;
export const LIST = 51;
export const TUPLE = 52;
export const DICT = 53;
export const NAMED_TUPLE = 54;
