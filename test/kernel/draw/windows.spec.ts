import { Draw, draw_bytes, draw_init, LENGTH, PROBABILITY, SLOT, STEPS as START } from "../../../assembly/draw/draw";
import { windows_draw, windows_read } from "../../../assembly/draw/pick-runs";
import { ALIKE, LEVEL, STEPS, windows_bytes, windows_init, windows_reserve, windows_seed, windows_show } from "../../../assembly/draw/streams";
import { arena_left } from "../../../assembly/memory/arena";
import { pool_check } from "../../../assembly/record/check";
import { Pool, pool_live } from "../../../assembly/rows/pool";
import { Stream, stream_check, stream_clear, streamBytes } from "../../../assembly/rows/stream";
import { window_clear, window_lend, window_length, window_reserve, window_stream, window_take } from "../../../assembly/writer/grow";
import { openArena, zeroed } from "../support/memory";
import { append, newPool, newStream, numberOf } from "../support/world";

const ROWS: u32 = 8192;

/** Windows of their own, seeded. */
function grown(pool: Pool, n: u32): usize {
  const at = zeroed(windows_bytes(n, 1));
  windows_init(at, n, <u32>changetype<usize>(pool), 0, 0);
  windows_seed(at, 1, 2, 3);
  return at;
}

/** `count` steps for window i, by a stream that is lent it. */
function add(windows: usize, i: u32, writer: Stream, first: i32, count: u32): void {
  assert(window_reserve(windows, i, count) == 0, "there is room");
  for (let k: u32 = 0; k < count; k++) {
    window_lend(windows, i, changetype<usize>(writer));
    append(writer, first + <i32>k);
    window_take(windows, i, changetype<usize>(writer));
  }
}

function newDraw(items: u32): Draw {
  const at = zeroed(draw_bytes(items) + 12 * ROWS);
  draw_init(at, items, ROWS);
  return changetype<Draw>(at);
}

function check(windows: usize, n: u32): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const code = stream_check(window_stream(windows, i));
    if (code != 0) return code;
  }
  return 0;
}

function rowOf(draw: Draw, k: u32): u32 {
  return load<u32>(<usize>draw.rows + ((<usize>k) << 2));
}

describe("windows", () => {
  beforeEach(() => {
    openArena(8 << 20);
  });

  it("are over the lanes of others, which forget", () => {
    const p = newPool();
    const base = zeroed(3 * streamBytes(4));
    // Streams that follow each other, as a writer's lanes do.
    const streams: Stream[] = [];
    for (let lane: usize = 0; lane < 3; lane++) {
      const s = newStream(p, 4);
      memory.copy(base + lane * streamBytes(4), changetype<usize>(s), streamBytes(4));
      const copy = changetype<Stream>(base + lane * streamBytes(4));
      copy.window().entries = <u32>changetype<usize>(copy) + streamBytes(0);
      streams.push(copy);
    }
    const windows = zeroed(windows_bytes(3, 0));
    windows_init(windows, 3, <u32>changetype<usize>(p), <u32>base, streamBytes(4));
    windows_seed(windows, 1, 2, 3);
    const draw = newDraw(64);
    expect<u32>(windows_draw(windows, changetype<usize>(draw), 1, 1, LEVEL)).toBe(0, "nothing is there");
    for (let t = 0; t < 9; t++) {
      for (let lane = 0; lane < 3; lane++) append(streams[lane], 100 * lane + t);
      const steps = min(t + 1, 4);
      for (let width = 1; width <= 5; width++) {
        const drawn = windows_draw(windows, changetype<usize>(draw), 64, width, LEVEL);
        expect<u32>(drawn).toBe(width <= steps ? 64 : 0);
        for (let k: u32 = 0; k < drawn; k++) {
          const lane = draw.slot(k);
          const start = load<u32>(draw.u32At(START, k));
          assert(lane < 3 && start <= <u32>(steps - width), "a window that is there");
          assert(load<f64>(draw.f64At(PROBABILITY, k)) == 1.0 / <f64>(3 * (steps - width + 1)), "all alike");
          for (let j = 0; j < width; j++) {
            const wanted = <i32>(100 * lane) + t + 1 - steps + <i32>start + j;
            assert(numberOf(p, rowOf(draw, k * width + j)) == wanted, "in order, of one lane");
          }
        }
      }
    }
    expect<i32>(check(windows, 3)).toBe(0);
  });

  it("grow over the border of a granule, and keep every step", () => {
    const p = newPool();
    const windows = grown(p, 2);
    const writer = newStream(p, 1);
    add(windows, 0, writer, 0, 1024);
    expect<u32>(window_length(windows, 0)).toBe(1024);
    add(windows, 1, writer, 5000, 1);
    add(windows, 0, writer, 1024, 1);
    expect<u32>(window_length(windows, 0)).toBe(1025);
    add(windows, 0, writer, 1025, 2000);
    const draw = newDraw(1);
    store<u32>(draw.u32At(SLOT, 0), 0);
    store<u32>(draw.u32At(START, 0), 0);
    windows_read(windows, changetype<usize>(draw), 1, 3030);
    expect<u32>(load<u32>(draw.u32At(LENGTH, 0))).toBe(3025);
    for (let k = 0; k < 3025; k++) assert(numberOf(p, rowOf(draw, k)) == k, "in order");
    for (let k = 3025; k < 3030; k++) assert(rowOf(draw, k) == 0, "nothing behind the newest");
    expect<i32>(check(windows, 2)).toBe(0);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(3026);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
  });

  it("go on in one episode, whoever was lent in between", () => {
    const p = newPool();
    const windows = grown(p, 2);
    const writer = newStream(p, 8);
    add(windows, 0, writer, 0, 2);
    add(windows, 1, writer, 10, 3);
    add(windows, 0, writer, 2, 1);
    const zero = changetype<Stream>(window_stream(windows, 0));
    const one = changetype<Stream>(window_stream(windows, 1));
    expect<u32>(p.episode(zero.last)).toBe(1);
    expect<u32>(p.episode(one.last)).toBe(2);
    expect<u32>(zero.episodeStep).toBe(3);
    expect<u32>(p.next(zero.firstOf(2))).toBe(zero.last, "linked over the other's steps");
    // Lent and taken back without a step: nothing changes.
    window_lend(windows, 0, changetype<usize>(writer));
    window_take(windows, 0, changetype<usize>(writer));
    expect<i32>(check(windows, 2)).toBe(0);
    expect<i32>(stream_check(changetype<usize>(writer))).toBe(0);
    expect<u32>(zero.episodeStep).toBe(3);
    window_clear(windows, 0);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(3);
    add(windows, 0, writer, 20, 1);
    expect<u32>(p.episode(zero.last)).toBe(3, "another episode after a clear");
    expect<i32>(check(windows, 2)).toBe(0);
  });

  it("are drawn by their steps, or all alike, and only those that are shown and long enough", () => {
    const p = newPool();
    const windows = grown(p, 5);
    const writer = newStream(p, 1);
    const draw = newDraw(1000);
    const at = changetype<usize>(draw);
    expect<u32>(windows_draw(windows, at, 1, 0, ALIKE)).toBe(0);
    // Steps 3, 0, 1, 6, 4 of which the last is hidden.
    add(windows, 0, writer, 0, 3);
    add(windows, 2, writer, 20, 1);
    add(windows, 3, writer, 30, 6);
    add(windows, 4, writer, 40, 4);
    windows_show(windows, 4, 0);
    windows_draw(windows, at, 1000, 2, STEPS);
    for (let k: u32 = 0; k < 1000; k++) {
      const i = draw.slot(k);
      assert(i == 0 || i == 3, "long enough, and shown");
      const wanted = i == 0 ? 3.0 / (9.0 * 2.0) : 6.0 / (9.0 * 5.0);
      assert(load<f64>(draw.f64At(PROBABILITY, k)) == wanted, "by steps, then all starts alike");
    }
    windows_draw(windows, at, 1000, 0, ALIKE);
    let seen: u32 = 0;
    for (let k: u32 = 0; k < 1000; k++) {
      seen |= 1 << draw.slot(k);
      assert(load<f64>(draw.f64At(PROBABILITY, k)) == 1.0 / 3.0, "of three streams");
    }
    expect<u32>(seen).toBe(0b1101);
    windows_show(windows, 4, 1);
    add(windows, 1, writer, 10, 7);
    expect<u32>(windows_draw(windows, at, 1000, 7, ALIKE)).toBe(1000);
    for (let k: u32 = 0; k < 1000; k++) assert(draw.slot(k) == 1, "the sums are made anew");
    window_clear(windows, 1);
    expect<u32>(windows_draw(windows, at, 1, 7, STEPS)).toBe(0);
  });

  it("of one step are the only ones", () => {
    const p = newPool();
    const windows = grown(p, 1);
    const writer = newStream(p, 1);
    const draw = newDraw(1);
    add(windows, 0, writer, 7, 1);
    expect<u32>(windows_draw(windows, changetype<usize>(draw), 1, 1, STEPS)).toBe(1);
    expect<i32>(numberOf(p, rowOf(draw, 0))).toBe(7);
    expect<f64>(load<f64>(draw.f64At(PROBABILITY, 0))).toBe(1);
    expect<u32>(windows_draw(windows, changetype<usize>(draw), 1, 2, STEPS)).toBe(0);
  });

  it("are as they were where no memory is left", () => {
    openArena(64 * 4096);
    const p = newPool();
    const windows = grown(p, 2);
    const writer = newStream(p, 1);
    add(windows, 0, writer, 0, 10);
    const left = arena_left();
    expect<i32>(window_reserve(windows, 0, 1 << 20)).toBe(-1);
    expect<f64>(arena_left()).toBe(left);
    expect<i32>(windows_reserve(windows, 1 << 20)).toBe(-1);
    expect<u32>(window_length(windows, 0)).toBe(10);
    expect<i32>(check(windows, 2)).toBe(0);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
    stream_clear(changetype<usize>(writer));
    add(windows, 0, writer, 10, 1);
    expect<u32>(window_length(windows, 0)).toBe(11);
  });
});
