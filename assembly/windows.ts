/**
 * The windows module's ABI page. A third module that works in the core's memory, for buffers that draw from the windows of streams instead of a table: it
 * imports that memory and nothing else, and holds no data of its own.
 */
export { windows_draw, windows_read, windows_total } from "./draw/pick-runs";
export { windows_bytes, windows_init, windows_reserve, windows_seed, windows_show } from "./draw/streams";
export { window_clear, window_lend, window_length, window_reserve, window_stream, window_take } from "./writer/grow";
