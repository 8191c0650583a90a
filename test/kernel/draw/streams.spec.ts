import { Draw, draw_bytes, draw_init, LENGTH, PROBABILITY, SLOT, START } from "../../../assembly/draw/draw";
import { draw_rows, OF_STREAMS } from "../../../assembly/draw/row-matrix";
import { streams_draw } from "../../../assembly/draw/windows/pick-runs";
import {
  ALIKE,
  BY_STEPS,
  LEVEL,
  StreamSet,
  streams_bytes,
  streams_changed,
  streams_init,
  streams_seed,
  streams_show,
} from "../../../assembly/draw/windows/streams";
import { pool_check } from "../../../assembly/persistence/check";
import {
  stream_drop,
  stream_hold,
  stream_lend,
  stream_length,
  stream_reserve,
  stream_rows,
  stream_shrink,
  stream_take,
} from "../../../assembly/rows/held-stream";
import { Pool, pool_live, pool_reserve } from "../../../assembly/rows/pool";
import { Stream, stream_bytes, stream_check, stream_clear, stream_end, stream_init } from "../../../assembly/rows/stream";
import { arena_left, openArena, zeroed } from "../support/memory";
import { append, newPool, newStream, numberOf } from "../support/world";

const ROWS: u32 = 8192;

function newSet(n: u32, first: usize, stride: u32): usize {
  const at = zeroed(streams_bytes(n));
  streams_init(at, n, <u32>first, stride);
  streams_seed(at, 1, 2, 3);
  return at;
}

/** Returns a set of growing streams. */
function grown(pool: Pool, n: u32): usize {
  const first = zeroed(n * stream_bytes(0));
  for (let i: u32 = 0; i < n; i++) stream_init(first + i * stream_bytes(0), <u32>changetype<usize>(pool), 0, 0);
  return newSet(n, first, stream_bytes(0));
}

/** Returns the address of stream i. */
function streamOf(set: usize, i: u32): usize {
  return changetype<usize>(changetype<StreamSet>(set).stream(i));
}

/** Appends `count` steps to stream i with a writer that borrows it. */
function add(set: usize, i: u32, writer: Stream, first: i32, count: u32): void {
  extend(streamOf(set, i), writer, first, count);
  streams_changed(set);
}

function extend(stream: usize, writer: Stream, first: i32, count: u32): void {
  assert(stream_reserve(stream, count) == 0, "there is room");
  for (let k: u32 = 0; k < count; k++) {
    stream_lend(stream, changetype<usize>(writer));
    append(writer, first + <i32>k);
    stream_take(stream, changetype<usize>(writer));
  }
}

function newDraw(items: u32): Draw {
  const at = zeroed(draw_bytes(items) + 12 * ROWS);
  draw_init(at, items, ROWS);
  return changetype<Draw>(at);
}

function check(set: usize, n: u32): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const code = stream_check(streamOf(set, i));
    if (code != 0) return code;
  }
  return 0;
}

function rowOf(draw: Draw, k: u32): u32 {
  return load<u32>(<usize>draw.rows + ((<usize>k) << 2));
}

describe("a set of streams", () => {
  beforeEach(() => {
    openArena(8 << 20);
  });

  it("draws windows from the lanes of a writer that drops old steps", () => {
    const p = newPool();
    const base = zeroed(3 * stream_bytes(4));
    // The streams are adjacent, like the lanes of a writer.
    const streams: Stream[] = [];
    for (let lane: usize = 0; lane < 3; lane++) {
      const s = newStream(p, 4);
      memory.copy(base + lane * stream_bytes(4), changetype<usize>(s), stream_bytes(4));
      const copy = changetype<Stream>(base + lane * stream_bytes(4));
      copy.recent().entries = <u32>changetype<usize>(copy) + stream_bytes(0);
      streams.push(copy);
    }
    const set = newSet(3, base, stream_bytes(4));
    const draw = newDraw(64);
    expect<u32>(streams_draw(set, changetype<usize>(draw), 1, 1, LEVEL)).toBe(0, "nothing is there");
    for (let t = 0; t < 9; t++) {
      for (let lane = 0; lane < 3; lane++) append(streams[lane], 100 * lane + t);
      const steps = min(t + 1, 4);
      for (let width = 1; width <= 5; width++) {
        const drawn = streams_draw(set, changetype<usize>(draw), 64, width, LEVEL);
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
    expect<i32>(check(set, 3)).toBe(0);
  });

  it("grows past the end of a granule, and keeps every step", () => {
    const p = newPool();
    const set = grown(p, 2);
    const writer = newStream(p, 1);
    add(set, 0, writer, 0, 1024);
    expect<u32>(stream_length(streamOf(set, 0))).toBe(1024);
    add(set, 1, writer, 5000, 1);
    add(set, 0, writer, 1024, 1);
    expect<u32>(stream_length(streamOf(set, 0))).toBe(1025);
    add(set, 0, writer, 1025, 2000);
    const draw = newDraw(1);
    store<u32>(draw.u32At(SLOT, 0), 0);
    store<u32>(draw.u32At(START, 0), 0);
    draw_rows(changetype<usize>(draw), OF_STREAMS, set, 1, 3030, 0);
    expect<u32>(load<u32>(draw.u32At(LENGTH, 0))).toBe(3025);
    for (let k = 0; k < 3025; k++) assert(numberOf(p, rowOf(draw, k)) == k, "in order");
    for (let k = 3025; k < 3030; k++) assert(rowOf(draw, k) == 0, "nothing behind the newest");
    expect<i32>(check(set, 2)).toBe(0);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(3026);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
  });

  it("continues each stream's episode after the writer has borrowed another stream", () => {
    const p = newPool();
    const set = grown(p, 2);
    const writer = newStream(p, 8);
    add(set, 0, writer, 0, 2);
    add(set, 1, writer, 10, 3);
    add(set, 0, writer, 2, 1);
    const zero = changetype<Stream>(streamOf(set, 0));
    const one = changetype<Stream>(streamOf(set, 1));
    expect<u32>(p.episode(zero.last)).toBe(1);
    expect<u32>(p.episode(one.last)).toBe(2);
    expect<u32>(zero.episodeStep).toBe(3);
    expect<u32>(p.next(zero.firstOf(2))).toBe(zero.last, "linked over the other's steps");
    // Lending a stream and taking it back without a step does not change it.
    stream_lend(streamOf(set, 0), changetype<usize>(writer));
    stream_take(streamOf(set, 0), changetype<usize>(writer));
    expect<i32>(check(set, 2)).toBe(0);
    expect<i32>(stream_check(changetype<usize>(writer))).toBe(0);
    expect<u32>(zero.episodeStep).toBe(3);
    stream_end(streamOf(set, 0), 0);
    streams_changed(set);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(3);
    add(set, 0, writer, 20, 1);
    expect<u32>(p.episode(zero.last)).toBe(3, "another episode after a clear");
    expect<i32>(check(set, 2)).toBe(0);
  });

  it("draws in proportion to steps or uniformly, and only from visible and long enough streams", () => {
    const p = newPool();
    const set = grown(p, 5);
    const writer = newStream(p, 1);
    const draw = newDraw(1000);
    const at = changetype<usize>(draw);
    expect<u32>(streams_draw(set, at, 1, 0, ALIKE)).toBe(0);
    // The steps are 3, 0, 1, 6, 4; the last one is hidden.
    add(set, 0, writer, 0, 3);
    add(set, 2, writer, 20, 1);
    add(set, 3, writer, 30, 6);
    add(set, 4, writer, 40, 4);
    streams_show(set, 4, 0);
    streams_draw(set, at, 1000, 2, BY_STEPS);
    for (let k: u32 = 0; k < 1000; k++) {
      const i = draw.slot(k);
      assert(i == 0 || i == 3, "long enough, and shown");
      const wanted = i == 0 ? 3.0 / (9.0 * 2.0) : 6.0 / (9.0 * 5.0);
      assert(load<f64>(draw.f64At(PROBABILITY, k)) == wanted, "by steps, then all starts alike");
    }
    streams_draw(set, at, 1000, 0, ALIKE);
    let seen: u32 = 0;
    for (let k: u32 = 0; k < 1000; k++) {
      seen |= 1 << draw.slot(k);
      assert(load<f64>(draw.f64At(PROBABILITY, k)) == 1.0 / 3.0, "of three streams");
    }
    expect<u32>(seen).toBe(0b1101);
    streams_show(set, 4, 1);
    add(set, 1, writer, 10, 7);
    expect<u32>(streams_draw(set, at, 1000, 7, ALIKE)).toBe(1000);
    for (let k: u32 = 0; k < 1000; k++) assert(draw.slot(k) == 1, "the sums are made anew");
    stream_end(streamOf(set, 1), 0);
    streams_changed(set);
    expect<u32>(streams_draw(set, at, 1, 7, BY_STEPS)).toBe(0);
  });

  it("draws the only window", () => {
    const p = newPool();
    const set = grown(p, 1);
    const writer = newStream(p, 1);
    const draw = newDraw(1);
    add(set, 0, writer, 7, 1);
    expect<u32>(streams_draw(set, changetype<usize>(draw), 1, 1, BY_STEPS)).toBe(1);
    expect<i32>(numberOf(p, rowOf(draw, 0))).toBe(7);
    expect<f64>(load<f64>(draw.f64At(PROBABILITY, 0))).toBe(1);
    expect<u32>(streams_draw(set, changetype<usize>(draw), 1, 2, BY_STEPS)).toBe(0);
  });

  it("is unchanged if memory is full", () => {
    openArena(64 * 4096);
    const p = newPool();
    const set = grown(p, 2);
    const writer = newStream(p, 1);
    add(set, 0, writer, 0, 10);
    const left = arena_left();
    expect<i32>(stream_reserve(streamOf(set, 0), 1 << 20)).toBe(-1);
    expect<f64>(arena_left()).toBe(left);
    expect<i32>(pool_reserve(changetype<usize>(p), 1 << 20)).toBe(-1);
    expect<u32>(stream_length(streamOf(set, 0))).toBe(10);
    expect<i32>(check(set, 2)).toBe(0);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
    stream_clear(changetype<usize>(writer));
    add(set, 0, writer, 10, 1);
    expect<u32>(stream_length(streamOf(set, 0))).toBe(11);
  });

  it("has streams with a limit, which grow up to it and then drop their oldest steps", () => {
    const p = newPool();
    const room: u32 = 4;
    const limit: u32 = 1500;
    const at = zeroed(stream_bytes(room));
    stream_init(at, <u32>changetype<usize>(p), room, limit);
    const writer = newStream(p, 1);
    const rows = zeroed(4 * limit);
    pool_reserve(changetype<usize>(p), limit + 1);
    const left = arena_left();
    for (let step: u32 = 0; step < 2000; step++) {
      extend(at, writer, step, 1);
      assert(stream_length(at) == min(step + 1, limit), "the last ones");
      assert(stream_check(at) == 0, "sound");
    }
    expect<u32>(stream_rows(at, 1490, 100, rows)).toBe(10);
    for (let k: u32 = 0; k < 10; k++) expect<i32>(numberOf(p, load<u32>(rows + k * 4))).toBe(<i32>(1990 + k));
    expect<u32>(stream_rows(at, limit, 1, rows)).toBe(0);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(limit);
    stream_end(at, 0);
    stream_shrink(at, room);
    extend(at, writer, 0, 3);
    expect<i32>(stream_check(at)).toBe(0);
    stream_end(at, 0);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(0);
    expect<f64>(arena_left()).toBe(left, "the ring's own memory was given back");
  });

  it("may hold the steps of another stream, and drop the oldest", () => {
    const p = newPool();
    const writer = newStream(p, 1);
    const set = grown(p, 3);
    add(set, 0, writer, 0, 5);
    add(set, 1, writer, 10, 4);
    const both = streamOf(set, 2);
    expect<i32>(stream_reserve(both, 9)).toBe(0);
    stream_hold(both, streamOf(set, 0));
    stream_hold(both, streamOf(set, 1));
    stream_drop(both, 3);
    expect<u32>(stream_length(both)).toBe(6);
    stream_end(streamOf(set, 0), 0);
    stream_end(streamOf(set, 1), 0);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(6);
    const rows = zeroed(24);
    stream_rows(both, 0, 6, rows);
    const numbers: i32[] = [3, 4, 10, 11, 12, 13];
    for (let k = 0; k < 6; k++) expect<i32>(numberOf(p, load<u32>(rows + k * 4))).toBe(numbers[k]);
    stream_drop(both, 6);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(0);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
  });
});
