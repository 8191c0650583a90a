/**
 * Compares replay buffers with lists: makes the same random operations on both, and compares all visible state after each operation. Also runs the checks of
 * the core.
 */

import { afterEach, describe, expect, test } from "vitest";
import { f32, i32, Replay, type Spec, shared, u8 } from "../../../src/index.ts";
import { engineOf } from "../../../src/replay/replay.ts";
import { EpisodicReplayBuffer, TFUniformReplayBuffer } from "../../../src/tf-agents/index.ts";
import { Windows } from "../../../src/tf-agents/windows.ts";
import { broken } from "../../support/health.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";
import { TwinEpisodic, TwinUniform } from "./twin-buffers.ts";

/** A narrow leaf, a wide leaf, and a stack with shared frames. All contain the number of the frame. */
const SPEC = { n: i32(), wide: u8(1024), stack: shared("frames", f32(2), 2) };

function items(frames: readonly number[]) {
  const wide = new Uint8Array(1024 * frames.length);
  for (const [i, frame] of frames.entries()) wide.fill(frame % 251, 1024 * i, 1024 * (i + 1));
  return { n: frames, wide, stack: frames.map((frame) => [pair(frame - 1), pair(frame)]) };
}

const pair = (frame: number) => [frame % 7, frame];

interface Column {
  readonly data: ArrayLike<number>;
  readonly shape: readonly number[];
}

/** Returns the numbers of the frames in a nest. Every leaf must have the same number. */
function numbersIn(nest: { readonly n: Column; readonly wide: Column; readonly stack: Column }): number[] {
  const n = Array.from(nest.n.data);
  expect(Array.from(n, (_, i) => [nest.wide.data[1024 * i], nest.wide.data[1024 * i + 1023]])).toEqual(n.map((frame) => [frame % 251, frame % 251]));
  expect(Array.from(nest.stack.data)).toEqual(n.flatMap((frame) => [...pair(frame - 1), ...pair(frame)]));
  expect(nest.stack.shape).toEqual([...nest.n.shape, 2, 2]);
  return n;
}

const pick = (random: TestRandom, max: number) => (random.below(3) === 0 ? undefined : 1 + random.below(max));

/** The Replays that the buffers create. */
const replays: Replay<Spec, string>[] = [];
const { writer } = Replay.prototype;
Replay.prototype.writer = function (this: Replay<Spec, string>, options) {
  if (!replays.includes(this)) replays.push(this);
  return writer.call(this, options) as never;
};
afterEach(() => void replays.splice(0));

const healthy = () => expect(replays.flatMap((replay) => broken(replay))).toEqual([]);

describe("a uniform buffer equals its twin", () => {
  test.each(Array.from({ length: scaled(24, 3) }, (_, seed) => seed))("seed %i", (seed) => {
    const random = new TestRandom(seed);
    // Covers all small capacities.
    const batchSize = 1 + (seed % 3);
    const maxLength = 1 + (Math.floor(seed / 3) % 8);
    const drop = random.below(2) === 0;
    const shift = pick(random, 4);
    const buffer = new TFUniformReplayBuffer(SPEC, { batchSize, maxLength, datasetDropRemainder: drop, datasetWindowShift: shift, seed });
    const twin = new TwinUniform(batchSize, maxLength);
    for (let round = 0; round < 60; round++) {
      if (random.below(25) === 0) {
        buffer.clear();
        twin.clear();
      } else {
        const frames = Array.from({ length: batchSize }, (_, s) => 1000 * s + 1 + random.below(900));
        buffer.addBatch(items(frames));
        twin.add(frames);
      }
      const steps = (twin.segments[0] as number[]).length;
      expect(buffer.numFrames()).toBe(batchSize * steps);
      const all = buffer.gatherAll();
      expect(all.n.shape).toEqual([batchSize, steps]);
      expect(numbersIn(all)).toEqual(twin.segments.flat());
      const k = pick(random, 4);
      const n = pick(random, 5);
      const ask = () => [...buffer.asDataset({ singleDeterministicPass: true, sampleBatchSize: k, numSteps: n })];
      if (drop && ((k ?? 0) > batchSize || (n ?? 0) > maxLength)) expectError(errorOf(ask), RangeError);
      else if (steps === 0) expectError(errorOf(ask), "EMPTY");
      else {
        const seen = ask().map(([data, { ids }]) => {
          expect((ids as Column).shape).toEqual(data.n.shape);
          return [numbersIn(data), Array.from((ids as Column).data)];
        });
        expect(seen).toEqual(twin.pass(k, n, shift, drop).map(([rows, ids]) => [rows.flat(), ids.flat()]));
      }
      const width = n ?? 1;
      if (width > steps)
        expectError(
          errorOf(() => buffer.getNext({ sampleBatchSize: k, numSteps: n })),
          steps === 0 ? "EMPTY" : "TOO_FEW",
        );
      else {
        const [data, { ids, probabilities }] = buffer.getNext({ sampleBatchSize: k, numSteps: n });
        const drawn = numbersIn(data);
        const times = Array.from((ids as Column).data);
        for (let i = 0; i < drawn.length; i += width) {
          const start = (times[i] as number) - twin.first;
          expect(twin.segments.map((segment) => segment.slice(start, start + width))).toContainEqual(drawn.slice(i, i + width));
          expect(times.slice(i, i + width)).toEqual(Array.from({ length: width }, (_, t) => twin.first + start + t));
        }
        for (const probability of probabilities.data) expect(probability).toBe(1 / (batchSize * (steps - width + 1)));
      }
      if (round % 10 === 0) healthy();
    }
    healthy();
  });
});

describe("an episodic buffer equals its twin", () => {
  test.each(Array.from({ length: scaled(24, 3) }, (_, seed) => seed))("seed %i", (seed) => {
    const random = new TestRandom(100 + seed);
    const capacity = 1 + (seed % 4);
    const completedOnly = seed % 5 === 0;
    const drop = random.below(2) === 0;
    const shift = pick(random, 4);
    let begins: boolean[] = [];
    let ends: boolean[] = [];
    const warnings: string[] = [];
    const buffer = new EpisodicReplayBuffer(SPEC, {
      capacity,
      completedOnly,
      datasetDropRemainder: drop,
      datasetWindowShift: shift,
      seed,
      beginEpisodeFn: () => (begins.length === 1 ? begins[0] : begins),
      endEpisodeFn: () => (ends.length === 1 ? ends[0] : ends),
      onWarning: (text) => warnings.push(text),
    });
    const twin = new TwinEpisodic(capacity, completedOnly);
    let frame = 0;
    const next = (n: number) => Array.from({ length: n }, () => ++frame);
    const anId = () => random.below(twin.last + 3) - 1;
    for (let round = 0; round < 80; round++) {
      const what = random.below(20);
      const flags = (n: number) => Array.from({ length: n }, () => random.below(4) === 0);
      const before = JSON.stringify([twin.places, twin.last]);
      if (what < 8) {
        const id = anId();
        begins = flags(1);
        ends = flags(1);
        const frames = next(1 + random.below(random.below(20) === 0 ? 700 : 5));
        const wanted = twin.addSequence(frames, begins[0] as boolean, ends[0] as boolean, id);
        if (wanted === undefined)
          expectError(
            errorOf(() => buffer.addSequence(items(frames), id)),
            "STALE_KEY",
          );
        else expect(buffer.addSequence(items(frames), id)).toBe(wanted);
      } else if (what < 16) {
        const rows = 1 + random.below(4);
        const ids = Array.from({ length: rows }, anId);
        begins = flags(rows);
        ends = flags(rows);
        const frames = next(rows);
        const wanted = twin.addBatch(frames, begins, ends, ids);
        warnings.length = 0;
        if (wanted === undefined) {
          expectError(
            errorOf(() => buffer.addBatch(items(frames), ids)),
            "STALE_KEY",
          );
          expect(JSON.stringify([twin.places, twin.last])).toBe(before);
        } else {
          expect(buffer.addBatch(items(frames), ids)).toEqual(wanted);
          expect(warnings).toHaveLength(wanted.filter((id) => twin.valid(id) === undefined).length);
        }
      } else if (what === 16) {
        const all = random.below(2) === 0;
        buffer.clear({ clearAllVariables: all });
        twin.clear(all);
      } else if (what === 17) {
        const location = random.below(capacity);
        const place = twin.places[location];
        const { length, completed, items: taken } = buffer.extract([location], true);
        expect([...length, ...completed]).toEqual([place?.frames.length ?? 0, Number(place?.completed ?? false)]);
        expect(numbersIn(taken[0] as Parameters<typeof numbersIn>[0])).toEqual(place?.frames ?? []);
        if (place !== undefined) Object.assign(place, { frames: [], completed: false });
      } else if (what === 18) {
        // A copied episode follows the original, or starts a new episode.
        const location = random.below(capacity);
        const place = twin.places[location];
        const extracted = buffer.extract([location]);
        begins = [random.below(2) === 0];
        const id = place === undefined || random.below(2) === 0 ? -1 : place.id;
        const frames = [...(place?.frames ?? [])];
        const completed = place?.completed ?? false;
        const to = id < 0 || (begins[0] && frames.length > 0) ? twin.open() : id;
        expect(buffer.extendEpisodes([-1, id], [1], extracted)).toEqual([-1, to]);
        const episode = twin.valid(to) as NonNullable<ReturnType<TwinEpisodic["valid"]>>;
        episode.frames.push(...frames);
        episode.completed = completed;
      }
      expect(buffer.numFrames()).toBe(twin.frames);
      expect(buffer.completedEpisodes()).toEqual(twin.places.flatMap((place) => (place?.completed ? [place.id] : [])));
      const ids = Array.from({ length: twin.last + 3 }, (_, id) => id - 1);
      expect([...buffer.getValidIdsMask(ids)]).toEqual(ids.map((id) => Number(twin.valid(id) !== undefined)));
      for (const id of ids.slice(1, -1).filter((id) => twin.valid(id))) expect(numbersIn(buffer.getEpisode(id))).toEqual(twin.valid(id)?.frames);
      const chosen = twin.chosen();
      expect(numbersIn(buffer.gatherAll())).toEqual(chosen.flatMap(({ frames }) => frames));
      const n = pick(random, 4);
      const k = n === undefined ? undefined : pick(random, 4);
      const seen = [...buffer.asDataset({ singleDeterministicPass: true, sampleBatchSize: k, numSteps: n })].map(([data, { ids, probabilities }]) => {
        expect(Array.from(probabilities.data).every((one) => one === 1)).toBe(true);
        return [numbersIn(data), Array.from((ids as Column).data)];
      });
      expect(seen).toEqual(twin.pass(k, n, shift, drop).map(([rows, own]) => [rows.flat(), own]));
      const long = chosen.filter(({ frames }) => frames.length >= (n ?? 1));
      const draw = () => buffer.getNext({ sampleBatchSize: k, numSteps: n });
      if (long.length === 0) expectError(errorOf(draw), twin.frames === 0 ? "EMPTY" : "TOO_FEW");
      else {
        const [data, info] = draw();
        const drawn = numbersIn(data);
        const total = long.reduce((sum, { frames }) => sum + frames.length, 0);
        for (const [i, id] of Array.from((info.ids as Column).data).entries()) {
          const episode = long.find((one) => one.id === id);
          const frames = episode?.frames as number[];
          const part = n === undefined ? drawn : drawn.slice(i * n, (i + 1) * n);
          // An episode may contain copies twice, so the window can be in either copy.
          expect(frames.some((_, start) => frames.slice(start, start + part.length).join() === part.join())).toBe(true);
          const wanted = n === undefined ? 1 / long.length : frames.length / total / (frames.length - n + 1);
          expect(info.probabilities.data[i]).toBeCloseTo(wanted, 14);
        }
      }
      if (round % 10 === 0) healthy();
    }
    healthy();
  });
});

describe("growing windows", () => {
  test("keep their streams and pools consistent for any order of episodes", () => {
    for (let seed = 0; seed < scaled(8, 2); seed++) {
      const random = new TestRandom(seed);
      // The internals of the buffer, to check its streams.
      let windows: Windows | undefined;
      const made = Windows.prototype.drawStream;
      Windows.prototype.drawStream = function (weigh) {
        windows = this;
        return made.call(this, weigh);
      };
      const capacity = 1 + random.below(4);
      const buffer = new EpisodicReplayBuffer(SPEC, { capacity, beginEpisodeFn: () => false, endEpisodeFn: () => false });
      const ids: number[] = [buffer.addSequence(items([1]), -1)];
      buffer.getNext();
      Windows.prototype.drawStream = made;
      const { streams } = windows as Windows;
      const { x } = engineOf(replays.at(-1) as Replay<Spec, string>).core;
      for (let frame = 2; frame < 400; frame++) {
        const id = random.below(8) === 0 ? -1 : (random.pick(ids) as number);
        if (id >= 0 && buffer.getValidIdsMask([id])[0] === 0) continue;
        ids.push(buffer.addSequence(items(Array.from({ length: 1 + random.below(3) }, (_, i) => 3 * frame + i)), id));
        if (random.below(60) === 0) buffer.clear();
        for (let i = 0; i < capacity; i++) expect(x.stream_check(streams.at(i))).toBe(0);
      }
      healthy();
    }
  });
});
