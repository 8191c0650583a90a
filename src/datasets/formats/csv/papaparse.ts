/** Exports the parts of papaparse that are used, as a separate chunk that is loaded only to read or write CSV. */
import Papa from "papaparse";

export const { Parser, unparse } = Papa;
