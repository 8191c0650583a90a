/**
 * Copies drawn values into a batch. The layout and the buffer keep everything that is computed only once, so a repeated draw into the same arrays allocates
 * nothing.
 */

import { OUTPUT_BYTES, OUTPUT_STEPS, OUTPUT_STRIDE, RUN_BYTES } from "../base/abi.ts";
import { DIRECT_BYTES } from "../schema/layout.ts";
import type { BoundedText } from "../schema/leaf.ts";
import { readTexts } from "../schema/text.ts";
import type { BatchBuffer } from "./buffer.ts";
import { mayStop, type Output } from "./layout.ts";

/**
 * Gathers the leaves of `count` items, and copies them and the columns of the draw out of scratch. O(bytes). @param replacement changes or computes values in
 * scratch before they are copied
 */
export function gather(buffer: BatchBuffer, count: number, replacement?: { put?(buffer: BatchBuffer, count: number): void }): void {
  const { engine, lists, base } = buffer;
  const { core, pool } = engine;
  const { outputs, straight, texts, stops } = buffer.layout;
  const draw = buffer.draw.handle;
  if (!buffer.isPlanned || core.owner !== buffer.draw) core.u32.set(buffer.plan, base >>> 2);
  buffer.isPlanned = lists === undefined && core.owner === buffer.draw;
  // The loop uses an index: before V8 optimizes this function, `for … of` allocates an object per iteration.
  if (lists === undefined) core.x.gather(draw, pool, base, outputs.length);
  else for (let i = 0; i < outputs.length; i++) core.x.gather(draw, pool, outputAt(buffer, i, outputs[i] as Output), 1);
  const together = lists === undefined && stops === 0 ? straight.length : 1;
  for (let i = 0; i < straight.length; i += together) copyStraight(buffer, i, together, count);
  for (let i = 0; i < texts.length; i++) {
    const output = texts[i] as Output;
    const { leaf, steps, field } = output;
    core.x.gather(draw, pool, outputAt(buffer, outputs.length + straight.length + i, output), 1);
    const each = steps.length * leaf.size;
    readTexts(core.u8, buffer.textAt(output), (leaf.leaf as BoundedText).maxBytes, buffer.texts[field] as string[], count * each, buffer.first * each);
  }
  replacement?.put?.(buffer, count);
  buffer.copyOut(count);
  buffer.batch.count = count;
}

/** Returns the address of an OUTPUT by its place in the plan. If items differ, the OUTPUT has its own lists of steps. */
function outputAt({ engine, base, lists, listsAt }: BatchBuffer, place: number, { index, steps }: Output): number {
  const address = base + OUTPUT_BYTES * place;
  if (lists !== undefined) {
    const { i32 } = engine.core;
    i32.set(lists[index] as Int32Array, listsAt >>> 2);
    i32[(address >>> 2) + OUTPUT_STEPS] = listsAt;
    i32[(address >>> 2) + OUTPUT_STRIDE] = steps.length;
  }
  return address;
}

/** Copies `many` outputs directly, starting at output `first`, run by run. Packed frames are copied for as many items at a time as the window has room for. */
function copyStraight(buffer: BatchBuffer, first: number, many: number, count: number): void {
  const { core, pool } = buffer.engine;
  const { straight, outputs, runs: runBytes, window: room } = buffer.layout;
  const one = straight[first] as Output;
  outputAt(buffer, outputs.length + first, one);
  const runsAt = buffer.listsAt - runBytes;
  const address = buffer.base + OUTPUT_BYTES * (outputs.length + first);
  const window = buffer.windowAt;
  for (let item = 0; ; ) {
    const runs = core.x.gather_runs(buffer.draw.handle, pool, address, many, item, runsAt, window, room);
    // If few rows are adjacent, one host copy per row costs more than copying through the stop, an intermediate buffer.
    if (mayStop(one.leaf) && runs * DIRECT_BYTES > count * one.steps.length * one.leaf.arrayBytes) {
      copyStopping(buffer, address, one, count);
      return;
    }
    copyRuns(buffer, first, runsAt, runs);
    item = window === 0 ? 0 : (core.u32[window >>> 2] as number);
    if (item === 0) return;
  }
}

function copyRuns(buffer: BatchBuffer, first: number, runsAt: number, runs: number): void {
  const { u8, u32 } = buffer.engine.core;
  const { straight } = buffer.layout;
  const end = (runsAt + RUN_BYTES * runs) / 4;
  for (let i = runsAt / 4; i < end; i += RUN_BYTES / 4) {
    const from = u32[i] as number;
    const length = u32[i + 1] as number;
    const { field } = straight[first + (u32[i + 2] as number)] as Output;
    const to = buffer.startOf(field) + (u32[i + 3] as number);
    if (from === 0) buffer.bytesOf(field).fill(0, to, to + length);
    else buffer.bytesOf(field).set(u8.subarray(from, from + length), to);
  }
}

function copyStopping(buffer: BatchBuffer, address: number, output: Output, count: number): void {
  const { core, pool } = buffer.engine;
  core.x.gather(buffer.draw.handle, pool, address, 1);
  const from = buffer.stopAt(output);
  buffer.bytesOf(output.field).set(core.u8.subarray(from, from + count * output.steps.length * output.leaf.arrayBytes), buffer.startOf(output.field));
}
