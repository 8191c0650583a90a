/**
 * The sections module's ABI page: checksums of what is written to files and read from them. It has a memory of its own, in which a host keeps the bytes from
 * `DATA_AT` on, and imports nothing.
 */
export { crc32c } from "./record/fold";
export { section_seal, section_sum } from "./record/section";
export { DATA_AT } from "./record/section-memory";
