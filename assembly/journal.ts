/**
 * The journal module's ABI page. It works in the memory of a tracking core, imports that memory and nothing else: records of what has changed since it was
 * asked last, and back. Loading is into freshly made structures, in the order in which records were written; then names, streams, tables, rows.
 */
export { arena_check } from "./memory/arena";
export {
  journal_collect_slots,
  journal_join_table,
  journal_load_slots,
  journal_slot_bytes,
  journal_slots,
  journal_table,
  journal_table_bytes,
} from "./record/changed-items";
export {
  journal_collect_rows,
  journal_load_links,
  journal_load_rows,
  journal_name_rows,
  journal_row_bytes,
  journal_rows,
  journal_settle_rows,
} from "./record/changed-rows";
export { journal_load_stream, journal_stream } from "./record/changed-streams";
export { pool_check, table_check } from "./record/check";
export { pool_numbers } from "./record/pool";
export { stream_check } from "./rows/stream";
