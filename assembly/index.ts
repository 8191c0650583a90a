/**
 * The ABI page: every export of the core and nothing else, by noun; src/base/abi.ts mirrors it. All arguments and results are numbers: i32, u32, f64. A handle
 * is an offset, 0 = none. The module imports nothing and has no data section: all its state is in its memory.
 */
// biome-ignore-all assist/source/organizeImports: nouns have an order of their own

// The debug build finds `trapAbort` by name and uses it as `abort`. This page does not export it.
import "./memory/trap";

export { ABI_VERSION, SECTIONS_AT } from "./memory/layout";

// arena
export { arena_alloc, arena_check, arena_free, arena_init, arena_used } from "./memory/arena";

// layout: the byte offsets of a step's leaves
export { layout_place } from "./rows/layout";

// pool
export { pool_bytes, pool_init, pool_leaf, pool_live, pool_open, pool_reserve } from "./rows/pool";
export { pool_check } from "./persistence/check";
export { pool_run } from "./rows/run";
export { pool_room } from "./rows/block-size";

// packs: the bytes of packed frames
export { packs_init, packs_number } from "./rows/packed-frame";
export { packs_bytes } from "./rows/packs";

// entry: the bytes of a packed frame, in a separate instance without an arena
export { entry_apply, entry_init, entry_work_bytes } from "./packed/unpack";

// halves: floats of two bytes
export { halves_narrow } from "./memory/half";

// stored bytes: a limit on the bytes of rows
export { stored_bytes_bytes, stored_bytes_init, stored_bytes_now } from "./tables/stored-bytes";

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
} from "./rows/held-stream";

// writer
export { writer_barren, writer_bytes, writer_init, writer_rule, writer_stream } from "./writer/writer";
export { writer_append } from "./writer/step";
export { writer_close, writer_end, writer_finish } from "./writer/ends";
export { writer_discard } from "./writer/discard";
export { writer_append_block } from "./writer/block";
export { writer_number, writer_numbers, writer_set_number } from "./writer/dues";

// streams: a set of streams that buffers draw from
export { streams_bytes, streams_changed, streams_init, streams_seed, streams_show } from "./draw/windows/streams";
export { streams_draw, streams_total } from "./draw/windows/pick-runs";

// table
export {
  table_bytes,
  table_can_insert,
  table_can_sample,
  table_exponents,
  table_hold_steps,
  table_init,
  table_limits,
  table_number,
  table_seed,
} from "./tables/table";
export { table_check } from "./persistence/check";
export { table_remover } from "./selectors/selector";
export { table_clear, table_counter, table_item, table_layouts, table_sure } from "./tables/inspect";
export { table_delete, table_newest, table_update } from "./tables/keys";
export { table_discard } from "./writer/discard";
export { table_close_draw, table_count_draw, table_get, table_loose, table_peek, table_sample } from "./draw/sample";
export { table_epoch, table_epoch_begin, table_epoch_resume } from "./draw/epoch";
export { table_insert, table_insert_earlier } from "./writer/item";
export {
  table_about,
  table_arrange,
  table_chances,
  table_close,
  table_find,
  table_free_slots,
  table_high,
  table_max_size,
  table_min,
  table_move,
  table_open,
  table_random,
  table_reserve,
  table_slots,
  table_total,
  table_weighs,
} from "./tables/growing-table";

// priority: priorities computed from errors
export { priority_max, priority_of_errors, priority_powers } from "./draw/weights";

// draw
export { draw_bytes, draw_column, draw_init, draw_narrow, draw_result } from "./draw/draw";
export { draw_given, draw_mixed, draw_single } from "./draw/windows/mixed";
export { draw_goal_bytes, draw_goal_returns, draw_goal_values, draw_goals, draw_put_goals } from "./draw/goals";
export { draw_n_step } from "./draw/n-step";
export { draw_vector_returns } from "./draw/vector-returns";
export { draw_sequences } from "./draw/sequence";
export { draw_picked_rows, draw_picks, draw_rows, draw_starts } from "./draw/row-matrix";
export { draw_weights, draw_weights_by } from "./draw/weights";

// gather
export { gather, gather_runs } from "./draw/gather";
export { scatter } from "./draw/scatter";

// mixture: how many rows of a batch come from each source
export { mixture_seed, mixture_split } from "./draw/mixture";

// record: state to bytes (a range of numbers, or only the changes) and back
export {
  record_changed_rows,
  record_collect_rows,
  record_free_rows,
  record_load_free,
  record_load_links,
  record_load_rows,
  record_name_rows,
  record_pool,
  record_row_bytes,
  record_rows,
  record_hold_frames,
} from "./persistence/row";
export { record_changed_entries, record_collect_entries, record_entries, record_load_entries } from "./persistence/entry";
export {
  record_changed_counts,
  record_changed_slots,
  record_collect_slots,
  record_load_counts,
  record_load_slots,
  record_slot_bytes,
  record_slots,
} from "./persistence/slot";
export { record_append, record_max_bytes, record_write } from "./persistence/step";
export { record_load_stream, record_stream } from "./persistence/stream";
export { record_drawn, record_drawn_bytes, record_load_drawn, record_load_table, record_table, record_table_bytes } from "./persistence/table";

// section: in a separate instance without an arena
export { crc32c } from "./persistence/crc32c";
export { section_seal, section_sum } from "./persistence/section";
