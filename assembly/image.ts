/**
 * The image module's ABI page. A second module that works in the core's memory, for hosts that save, restore or check: it imports that memory and
 * nothing else, and holds no data of its own.
 *
 * An image is canonical state as records without addresses, so that a host can store it and restore it elsewhere: neither module ever sees a
 * file. Rows are named by number, items by slot. The same calls save (`saving` 1) and load (0). Loading is into freshly made structures:
 * pools (those of frames first), tables, streams; what is derived is rebuilt, what is wrong is CORRUPT.
 */
export { arena_check } from "./memory/arena";
export { pool_check, table_check } from "./record/check";
export { crc32c } from "./record/crc32c";
export {
  pool_free_run,
  pool_free_runs,
  pool_index,
  pool_numbers,
  pool_record,
  pool_records,
  pool_restore,
  pool_seek,
  pool_unindex,
} from "./record/pool";
export { stream_record } from "./record/stream";
export { table_order, table_records, table_rejoin, table_spans } from "./record/table";
export { stream_check } from "./rows/stream";
