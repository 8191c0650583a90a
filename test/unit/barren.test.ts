/** Tests the warning about episodes without items: none is logged if `createItem` made an item or still can. */
import { expect, test } from "vitest";
import { f32, Replay } from "../../src/index.ts";

const options = { spec: { x: f32() }, tables: { t: { maxSize: 100 } }, logger: null };
const items = [{ table: "t", length: 5 }] as const;
const barrenOf = (replay: Replay) => replay.stats().warnings.barrenEpisodes;

test("a restored episode is counted only if it has no item", () => {
  const first = new Replay(options);
  const writer = first.writer({ items });
  writer.append({ x: 0 });
  writer.createItem("t", { length: 1 });
  const replay = Replay.restore([...first.snapshot()], { logger: null });
  replay.writers[0]?.endEpisode();
  replay.writers[0]?.append({ x: 1 });
  expect(barrenOf(replay)).toBe(0);
  const again = new Replay(options);
  again.writer({ items });
  const later = Replay.restore([...again.snapshot()], { logger: null });
  later.writers[0]?.append({ x: 2 });
  later.writers[0]?.endEpisode();
  expect(barrenOf(later)).toBe(1);
});

test.each<[string, (writer: { append(step: object): void; endEpisode(options?: object): void; appendColumns(columns: object): void }) => void]>([
  ["append", (writer) => writer.append({ y: 1 })],
  ["appendColumns", (writer) => writer.appendColumns({ x: [1], y: [1] })],
  ["endEpisode", (writer) => writer.endEpisode({ terminated: true })],
])("a rejected %s releases no steps, so that createItem is still possible", (_, refused) => {
  const replay = new Replay(options);
  const writer = replay.writer({ items });
  writer.append({ x: 0 });
  writer.endEpisode({ final: { x: 1 }, terminated: true });
  expect(() => refused(writer as never)).toThrow();
  writer.createItem("t", { length: 2 });
  writer.append({ x: 2 });
  expect(barrenOf(replay)).toBe(0);
});

test("createItem can follow the value of a final step", () => {
  const replay = new Replay(options);
  const writer = replay.writer({ items, lanes: 2, autoreset: "nextStep" });
  writer.append({ x: [0, 10] }, { terminated: [true, false] });
  writer.append({ x: [1, 11] });
  expect(barrenOf(replay)).toBe(0);
  writer.createItem("t", { length: 2, lane: 0 });
  writer.append({ x: [2, 12] });
  expect(barrenOf(replay)).toBe(0);
});

test("the end of another lane releases no steps", () => {
  const replay = new Replay(options);
  const writer = replay.writer({ items, lanes: 2 });
  writer.append({ x: [0, 10] });
  writer.endEpisode({ lane: 0, final: { x: 1 }, terminated: true });
  writer.endEpisode({ lane: 1, final: { x: 11 }, terminated: true });
  writer.createItem("t", { length: 2, lane: 0 });
  writer.createItem("t", { length: 2, lane: 1 });
  writer.append({ x: [2, 12] });
  expect(barrenOf(replay)).toBe(0);
});

test.each(["nextStep", "sameStep"] as const)("episodes that are released without an item are counted (%s)", (autoreset) => {
  const replay = new Replay(options);
  const writer = replay.writer({ items, lanes: 2, autoreset });
  for (let x = 0; x < 8; x += 4) {
    writer.append({ x: [x, x] }, { terminated: [true, true], ...(autoreset === "sameStep" && { final: { x: [x, x] } }) });
    writer.append({ x: [x, x] });
    writer.append({ x: [x, x] });
    writer.append({ x: [x, x] }, { terminated: [true, true], ...(autoreset === "sameStep" && { final: { x: [x, x] } }) });
    writer.append({ x: [x, x] });
  }
  writer.close();
  expect(barrenOf(replay)).toBe(8);
});
