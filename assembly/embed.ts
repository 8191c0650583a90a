/**
 * Exports the functions of embed.wasm: one Replay per instance, for hosts without JavaScript. The module imports nothing. docs/embed/protocol.md describes how
 * a host uses the module. All arguments and results are numbers: i32, u32, f64. A code below 0, or an address or handle of 0, means that a call was refused,
 * and `replay_error` returns the reason.
 */
// biome-ignore-all assist/source/organizeImports: in the order of use

export { ABI_VERSION } from "./memory/layout";

export { replay_input } from "./embed/root";
export { replay_create } from "./embed/create";
export { replay_append, replay_end, replay_item } from "./embed/append";
export { replay_discard, replay_truncate, replay_writer } from "./embed/writer";
export { replay_sample } from "./embed/mixed-batch";
export { replay_mixture, replay_set_mixture } from "./embed/mixture";
export { replay_epoch, replay_get } from "./embed/sample";
export { replay_columns, replay_stats } from "./embed/describe";
export { replay_delete, replay_update } from "./embed/change";
export { replay_write } from "./embed/write";
export { replay_save } from "./embed/save";
export { replay_load } from "./embed/load";
export { replay_error } from "./embed/refusal";
export { replay_free } from "./embed/root";
