/** Exports the parts of papaparse that Reprise uses, as a separate chunk that is loaded only to read or write CSV. */
import Papa from "papaparse";

export const { Parser, unparse } = Papa;
