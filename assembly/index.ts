/**
 * The ABI page: every export of the core, nothing else, by noun; src/core/abi.ts mirrors it. Numbers only: i32, u32, f64; a handle is an offset, 0 = none.
 * The module imports nothing and holds no data: all it knows stands in its memory.
 */
// biome-ignore-all assist/source/organizeImports: nouns have an order of their own

// Found by name as the debug build's `abort`; nothing of it is exported.
import "./memory/trap";

export { ABI_VERSION, SECTIONS_AT } from "./memory/layout";

// arena
export { arena_alloc, arena_check, arena_free, arena_init, arena_used } from "./memory/arena";

// pool
export { pool_bytes, pool_init, pool_leaf, pool_live, pool_open, pool_reserve } from "./rows/pool";
export { pool_check } from "./record/check";
export { pool_free_run, pool_free_runs, pool_index, pool_numbers, pool_record, pool_records, pool_restore, pool_seek, pool_unindex } from "./record/pool";
export { pool_run } from "./rows/run";

// row
export { row_ends, row_episode, row_live } from "./rows/row";

// stream
export { stream_bytes, stream_check, stream_clear, stream_end, stream_episode_steps, stream_init, stream_patch } from "./rows/stream";
export {
  stream_drop,
  stream_hold,
  stream_length,
  stream_lend,
  stream_newest,
  stream_reserve,
  stream_rows,
  stream_shrink,
  stream_take,
} from "./rows/recent";
export { stream_record } from "./record/stream";

// writer
export { writer_append, writer_bytes, writer_init, writer_rule, writer_stream } from "./writer/writer";
export { writer_append_block } from "./writer/block";

// streams: a set of streams that buffers draw from
export { streams_bytes, streams_changed, streams_init, streams_seed, streams_show } from "./draw/streams";
export { streams_draw, streams_total } from "./draw/pick-runs";

// table
export { table_bytes, table_can_insert, table_can_sample, table_exponents, table_init, table_limits, table_seed } from "./tables/table";
export { table_check } from "./record/check";
export { table_clear, table_counter, table_item } from "./tables/inspect";
export { table_delete, table_newest, table_update } from "./tables/keys";
export { table_order, table_records, table_rejoin, table_spans } from "./record/table";
export { table_sample, table_settle } from "./draw/sample";
export { table_insert } from "./writer/writer";

// items: a table whose room grows, and what stands in it
export {
  items_about,
  items_chance,
  items_close,
  items_find,
  items_free,
  items_high,
  items_lay,
  items_least,
  items_limit,
  items_move,
  items_next,
  items_open,
  items_random,
  items_reserve,
  items_slots,
  items_total,
  items_weigh,
} from "./tables/room";

// priority: of errors
export { priority_max, priority_of_errors, priority_powers } from "./draw/weights";

// draw
export { draw_bytes, draw_column, draw_init, draw_result } from "./draw/draw";
export { draw_given, draw_mixed, draw_points, draw_single } from "./draw/mixed";
export { draw_n_step } from "./draw/n-step";
export { draw_rows, draw_starts } from "./draw/rows";
export { draw_weights, draw_weights_by } from "./draw/weights";

// gather
export { gather_leaf, gather_runs, gather_select } from "./draw/gather";

// record: one step as bytes
export { record_append, record_most, record_write } from "./record/step";

// journal: what changed since it was asked last, and back
export {
  journal_collect_rows,
  journal_load_links,
  journal_load_rows,
  journal_name_rows,
  journal_row_bytes,
  journal_rows,
  journal_settle_rows,
} from "./record/changed-rows";
export {
  journal_collect_slots,
  journal_join_table,
  journal_load_slots,
  journal_slot_bytes,
  journal_slots,
  journal_table,
  journal_table_bytes,
} from "./record/changed-items";
export { journal_load_stream, journal_stream } from "./record/changed-streams";

// section: in an instance of its own, without an arena
export { crc32c } from "./record/fold";
export { section_seal, section_sum } from "./record/section";
