/** The ABI page: every export of the core, nothing else. Numbers only: i32, u32, f64; a handle is an offset, 0 = none. */
// Found by name as the debug build's `abort`; nothing of it is exported.
import "./memory/trap";

export { draw_bytes, draw_column, draw_init, draw_result } from "./draw/draw";
export { gather_leaf, gather_runs, gather_select } from "./draw/gather";
export { draw_n_step } from "./draw/n-step";
export { table_sample, table_settle, table_weights } from "./draw/sample";
export { draw_window } from "./draw/window";
export { arena_alloc, arena_free, arena_init, arena_used } from "./memory/arena";
export { ABI_VERSION } from "./memory/layout";
export { pool_bytes, pool_init, pool_leaf, pool_live, pool_open } from "./rows/pool";
export { stream_clear, stream_episode_steps, stream_length, stream_patch } from "./rows/stream";
export { table_clear, table_counter, table_item } from "./tables/inspect";
export { table_delete, table_newest, table_update } from "./tables/keys";
export { table_bytes, table_can_insert, table_can_sample, table_exponents, table_init, table_limits, table_seed } from "./tables/table";
export { writer_append_block } from "./writer/block";
export {
  writer_append,
  writer_bytes,
  writer_create_item,
  writer_end,
  writer_init,
  writer_rule,
  writer_stream,
} from "./writer/writer";
