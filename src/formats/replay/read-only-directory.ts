/** What tells a journal's files. */
export { ReadOnlyDirectory } from "../../store/log/read-only-directory.ts";

export const SEGMENT = /^\d{8}\.rpr$/;
