import { pool_check } from "../../../assembly/persistence/check";
import { stream_length } from "../../../assembly/rows/held-stream";
import { SHARED, WIDE } from "../../../assembly/rows/leaf";
import { Pool, pool_bytes, pool_init, pool_leaf, pool_live, pool_open } from "../../../assembly/rows/pool";
import { Head } from "../../../assembly/rows/row";
import { Stream, stream_check, stream_clear, stream_end, stream_episode_steps, stream_patch } from "../../../assembly/rows/stream";
import { arena_left, openArena, zeroed } from "../support/memory";
import { append, newPool, newStream, numberOf, stage } from "../support/world";

const U8: u32 = 2;
const staged: usize = memory.data(2048, 16);

function check(s: Stream): i32 {
  const code = stream_check(changetype<usize>(s));
  return code != 0 ? code : 100 * pool_check(changetype<usize>(s.rows()));
}

/** Returns a pool whose step has a shared stack of two frames of 8 bytes, followed by a wide leaf of 1,024 bytes in the staging record. */
function framePool(frames: Pool): Pool {
  const at = zeroed(pool_bytes(2));
  pool_init(at, 8, 2);
  pool_leaf(at, 0, SHARED, U8, 8, 0, 8, 2, <u32>changetype<usize>(frames));
  pool_leaf(at, 1, WIDE, U8, 1024, 0, 24, 1, 0);
  pool_open(at);
  return changetype<Pool>(at);
}

function frame(p: Pool, row: u32, k: usize): u32 {
  return load<u32>(p.value(row, p.leaf(0)) + (k << 2));
}

function appendFrames(s: Stream, first: u64, second: u64): u32 {
  store<u64>(staged, first, 8);
  store<u64>(staged, second, 16);
  memory.fill(staged + 24, <u8>first, 1024);
  return s.append(staged);
}

describe("stream", () => {
  beforeEach(() => {
    openArena(1 << 20);
  });

  it("holds only the last step if it keeps one", () => {
    const p = newPool();
    const s = newStream(p, 1);
    for (let i = 0; i < 50; i++) {
      const row = append(s, i);
      assert(s.firstOf(1) == row && s.firstOf(2) == 0 && s.firstOf(0) == 0, "one step at hand");
      assert(pool_live(changetype<usize>(p)) == 1, "one row held");
      assert(check(s) == 0, "check");
    }
    expect<u32>(stream_length(changetype<usize>(s))).toBe(1);
    expect<u32>(stream_episode_steps(changetype<usize>(s))).toBe(50);
  });

  it("links steps in order and drops the oldest", () => {
    const p = newPool();
    const s = newStream(p, 3);
    for (let i = 0; i < 100; i++) append(s, i);
    let row = s.firstOf(3);
    for (let i = 97; i < 100; i++) {
      expect<i32>(numberOf(p, row)).toBe(i);
      row = p.next(row);
    }
    expect<u32>(row).toBe(0);
    expect<i32>(check(s)).toBe(0);
  });

  it("opens an episode with the first step after an end, without a link across the end", () => {
    const p = newPool();
    const s = newStream(p, 4);
    const a = append(s, 1);
    stream_end(changetype<usize>(s), 0);
    expect<u32>(stream_length(changetype<usize>(s))).toBe(0);
    expect<u32>(stream_episode_steps(changetype<usize>(s))).toBe(0);
    stream_end(changetype<usize>(s), 0);
    const b = append(s, 2);
    expect<u32>(p.episode(b)).toBe(2);
    expect<u32>(pool_live(changetype<usize>(p))).toBe(1);
    expect<i32>(check(s)).toBe(0);
    expect<u32>(p.next(b)).toBe(0);
    expect<u32>(a).not.toBe(b);
  });

  it("keeps its steps across an end with `across`, and marks the end", () => {
    const p = newPool();
    const s = newStream(p, 4);
    const a = append(s, 1);
    stream_end(changetype<usize>(s), 1);
    const b = append(s, 2);
    expect<bool>(p.ends(a)).toBe(true);
    expect<u32>(p.next(a)).toBe(b);
    expect<u32>(p.episode(a)).toBe(1);
    expect<u32>(p.episode(b)).toBe(2);
    expect<u32>(s.firstOf(2)).toBe(a);
    expect<i32>(check(s)).toBe(0);
  });

  it("releases its rows when it is cleared", () => {
    const p = newPool();
    const s = newStream(p, 5);
    for (let i = 0; i < 9; i++) append(s, i);
    stream_clear(changetype<usize>(s));
    expect<u32>(pool_live(changetype<usize>(p))).toBe(0);
    expect<u32>(s.firstOf(1)).toBe(0);
    expect<i32>(pool_check(changetype<usize>(p))).toBe(0);
    append(s, 10);
    expect<u32>(stream_length(changetype<usize>(s))).toBe(1);
  });

  it("stores an equal frame once, and zeros not at all", () => {
    const frames = changetype<Pool>(zeroed(pool_bytes(1)));
    pool_init(changetype<usize>(frames), 8, 1);
    pool_leaf(changetype<usize>(frames), 0, 0, U8, 8, 0, 0, 1, 0);
    pool_open(changetype<usize>(frames));
    const p = framePool(frames);
    const s = newStream(p, 3);
    const a = appendFrames(s, 0, 7);
    const b = appendFrames(s, 7, 8);
    const c = appendFrames(s, 9, 9);
    expect<u32>(frame(p, a, 0)).toBe(0);
    expect<u32>(frame(p, b, 0)).toBe(frame(p, a, 1), "the frame of the step before");
    expect<u32>(frame(p, c, 0)).toBe(frame(p, c, 1), "twice in a step");
    expect<u32>(pool_live(changetype<usize>(frames))).toBe(3);
    expect<u32>(Head.of(frame(p, c, 0)).refs).toBe(2);
    expect<u64>(load<u64>(frames.bytes(frame(p, b, 1)))).toBe(8);
    expect<u8>(load<u8>(p.value(b, p.leaf(1)) + 1023)).toBe(7, "the wide leaf's last byte");
    for (let i: u64 = 10; i < 30; i++) appendFrames(s, i, i + 1);
    expect<u32>(pool_live(changetype<usize>(frames))).toBe(4, "three steps hold four frames");
    stream_end(changetype<usize>(s), 0);
    expect<u32>(pool_live(changetype<usize>(frames))).toBe(0);
    expect<i32>(check(s)).toBe(0);
    expect<i32>(pool_check(changetype<usize>(frames))).toBe(0);
  });

  it("copies leaves from another stream's newest step, and holds their frames", () => {
    const frames = changetype<Pool>(zeroed(pool_bytes(1)));
    pool_init(changetype<usize>(frames), 8, 1);
    pool_leaf(changetype<usize>(frames), 0, 0, U8, 8, 0, 0, 1, 0);
    pool_open(changetype<usize>(frames));
    const p = framePool(frames);
    const s = newStream(p, 2);
    const from = newStream(p, 1);
    appendFrames(s, 5, 6);
    memory.fill(staged, 0, 24 + 1024);
    const row = s.append(staged);
    const source = appendFrames(from, 7, 0);
    stream_patch(changetype<usize>(s), changetype<usize>(from), 0);
    expect<u32>(frame(p, row, 0)).toBe(frame(p, source, 0));
    expect<u32>(frame(p, row, 1)).toBe(0);
    expect<u32>(load<u8>(p.value(row, p.leaf(1)), 1023)).toBe(0, "the other leaf is as it was");
    stream_patch(changetype<usize>(s), changetype<usize>(from), 1);
    expect<u32>(load<u8>(p.value(row, p.leaf(1)), 1023)).toBe(7);
    stream_clear(changetype<usize>(from));
    expect<u64>(load<u64>(frames.value(frame(p, row, 0), frames.leaf(0)))).toBe(7, "it lives on with the step that took it over");
    assert(check(s) == 0, "check");
    stream_clear(changetype<usize>(s));
    expect<u32>(pool_live(changetype<usize>(frames))).toBe(0, "and goes with it");
  });

  it("is unchanged if memory is full", () => {
    openArena(32 * 4096);
    const p = newPool();
    const s = newStream(p, 1 << 13);
    let appended: u32 = 0;
    while (s.append(stage(appended)) != 0) appended += 1;
    expect<u32>(appended).toBe(p.capacity);
    expect<u32>(stream_length(changetype<usize>(s))).toBe(appended);
    expect<i32>(check(s)).toBe(0);
    expect<f64>(arena_left()).toBeLessThan(<f64>p.blockBytes);
    stream_clear(changetype<usize>(s));
    expect<u32>(s.append(stage(1))).not.toBe(0);
  });
});
