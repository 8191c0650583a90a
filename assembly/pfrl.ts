/**
 * The ABI page of the module behind reprise/pfrl. It works in the core's memory: it imports that memory and nothing else, and holds no data of its own.
 */

export { errors_most, errors_power, errors_weigh } from "./draw/errors";
export { picks_given, picks_mixed, picks_points, picks_rows, picks_starts, picks_weights } from "./draw/mixed";
export { row_ends, row_episode, row_live, rows_named, rows_of, rows_run } from "./draw/named";
export { record_append, record_most, record_write } from "./record/step";
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
export { env_init, env_lend, env_length, env_reserve, env_row, env_rows, env_shrink, env_take } from "./writer/envs";
export { memory_drop, memory_named, memory_pick, memory_pour } from "./writer/steps";
