/** The parts of papaparse that are used here: a chunk of its own, loaded when CSV is read or written. */
import Papa from "papaparse";

export const { Parser, unparse } = Papa;
