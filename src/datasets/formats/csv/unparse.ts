/** The part of papaparse that is used here: a chunk of its own, loaded when CSV is written. */
import Papa from "papaparse";

export const { unparse } = Papa;
