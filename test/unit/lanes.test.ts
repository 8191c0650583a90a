/** Tests `lanes: 1`: code for vector environments must run with a single environment, locally and across a port, and may omit flags. */
import { describe, expect, test } from "vitest";
import { bool, f32, fifo, i32, Replay, text } from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { broken } from "../support/health.ts";
import { ends } from "./remote/support.ts";

const spec = { observation: f32(2), one: f32(1), square: f32(1, 2), action: i32(), reward: f32(), over: bool(), note: text({ maxBytes: 8 }) };
const tables = { t: { maxSize: 1000, sampler: fifo() } };
type Any = Replay<typeof spec, "t">;

const plain = (id: number) => ({ observation: [id, -id], one: [id], square: [[id, id + 1]], action: id, reward: id, over: id % 2 === 0, note: `n${id}` });
const wrapped = (id: number) => Object.fromEntries(Object.entries(plain(id)).map(([name, value]) => [name, [value]])) as never;
const flat = (id: number) => ({
  ...(wrapped(id) as object),
  observation: Float32Array.of(id, -id),
  one: Float32Array.of(id),
  action: Int32Array.of(id),
  reward: Float32Array.of(id),
  over: Uint8Array.of(Number(id % 2 === 0)),
});
const items = ({ tables: { t } }: Any) => t.sample(t.size, { replacement: false }).toArray();

const options = { items: [{ table: "t", nStep: 2 }] } as const;

function reference(): unknown {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer(options);
  for (const id of [1, 2, 3]) writer.append(plain(id));
  writer.endEpisode({ final: { observation: [4, -4], note: "n4" }, terminated: false });
  for (const id of [5, 6]) writer.append(plain(id));
  writer.endEpisode({ terminated: true });
  return items(replay);
}

/** Appends the steps of `reference` with vector calls. */
async function play(writer: { append(step: never, ends?: never): unknown }, form: (id: number) => unknown): Promise<void> {
  const put = async (id: number, how?: object) => void (await writer.append(form(id) as never, how as never));
  await put(1);
  await put(2, { terminated: [false], truncated: [false] });
  await put(3, { truncated: [true], final: { observation: [[4, -4]], note: ["n4"] } });
  await put(5);
  await put(6, { terminated: Uint8Array.of(1), truncated: Uint8Array.of(1) });
}

describe.each(Object.entries({ "a leading dimension": wrapped, "flat arrays": flat, "no leading dimension": plain }))("lanes: 1, steps with %s", (_, form) => {
  test("a local writer stores the same items as a writer without lanes", async () => {
    const replay = new Replay({ spec, tables });
    await play(replay.writer({ lanes: 1, ...options }) as never, form);
    expect(items(replay)).toEqual(reference());
    expect(broken(replay)).toEqual([]);
  });

  test("a restored writer stores the same items as a writer without lanes", async () => {
    const replay = new Replay({ spec, tables });
    replay.writer({ lanes: 1, ...options });
    const again = Replay.restore<typeof spec, "t">(replay.snapshot());
    await play(again.writers[0] as never, form);
    expect(items(again)).toEqual(reference());
  });

  test("a remote writer stores the same items as a writer without lanes", async () => {
    const replay = new Replay({ spec, tables });
    const [here, there] = ends();
    const [writer] = await Promise.all([remoteWriter(there, { spec, lanes: 1 }), replay.acceptWriter(here, options)]);
    await play(writer as never, form);
    await writer.flush();
    expect(items(replay)).toEqual(reference());
    await writer.close();
  });
});

test.each([false, true])("appendColumns of one lane accepts a dimension of lanes (across a port: %s)", async (isRemote) => {
  const replay = new Replay({ spec, tables });
  const [here, there] = ends();
  const writer = isRemote
    ? (await Promise.all([remoteWriter(there, { spec, lanes: 1 }), replay.acceptWriter(here, options)]))[0]
    : replay.writer({ lanes: 1, ...options });
  const columns = (ids: readonly number[], form: (id: number) => object) =>
    Object.fromEntries(Object.keys(spec).map((name) => [name, ids.map((id) => (form(id) as { [name: string]: unknown })[name])])) as never;
  await writer.appendColumns(columns([1, 2, 3], wrapped), { truncated: [0, 0, 1], final: { observation: [[4, -4]], note: ["n4"] } });
  await writer.appendColumns(columns([5, 6], plain), { terminated: [0, 1] });
  await (writer as { flush(): unknown }).flush();
  expect(items(replay)).toEqual(reference());
  await writer.close();
});

test("append names the leaf of a step that fits in neither form, and changes nothing", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ lanes: 1, ...options });
  const { append } = writer as unknown as { append(step: unknown, ends?: unknown): void };
  const refused = (step: unknown, message: RegExp, how?: unknown) => expect(() => append.call(writer, step, how)).toThrow(message);
  refused({ ...plain(1), action: [1, 2] }, /^action must be i32/);
  refused({ ...plain(1), observation: [[[1, 2]]] }, /^observation must be/);
  refused({ ...plain(1), note: ["a", "b"] }, /^note must be/);
  refused({ ...plain(1), one: [[1], [2]] }, /^one must be/);
  refused(wrapped(1), /^final .*truncated episode/, { truncated: [true] });
  refused(wrapped(1), /terminated must be an array of 1/, { terminated: [true, false] });
  expect(writer.length).toBe(0);
  const other = replay.writer(options);
  expect(() => other.append(wrapped(1))).toThrow(/must be/);
  expect(() => (other as unknown as { append(step: unknown, ends: unknown): void }).append(plain(1), { terminated: [true] })).toThrow(/Call endEpisode/);
});

test("a staged step of one lane can end the episode", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ lanes: 1, ...options });
  const { staged } = writer;
  staged.observation.set([1, -1]);
  staged.action = 1;
  staged.note = "n1";
  writer.append(undefined as never, { terminated: [1] });
  expect(items(replay)).toMatchObject([{ action: [1, 0], note: ["n1", ""] }]);
});

describe("omitted flags count as false for every step", () => {
  const columns = { observation: [1, 1, 2, 2], one: [1, 2], square: [1, 1, 2, 2], action: [1, 2], reward: [1, 2], over: [0, 0], note: ["", ""] };

  test.each([false, true])("appendColumns accepts truncated without terminated (across a port: %s)", async (isRemote) => {
    const replay = new Replay({ spec, tables });
    const [here, there] = ends();
    const writer = isRemote ? (await Promise.all([remoteWriter(there, { spec }), replay.acceptWriter(here, options)]))[0] : replay.writer(options);
    await writer.appendColumns(columns, { truncated: [0, 1], final: { observation: [[3, 3]] } });
    await (writer as { flush(): unknown }).flush();
    const { truncated, terminated } = replay.tables.t.transitions({ gamma: 1 }).sample(2, { replacement: false });
    expect([[...truncated.data], [...terminated.data]]).toEqual([
      [1, 1],
      [0, 0],
    ]);
    expect(() => writer.appendColumns(columns, { truncated: [0, 1] })).toThrow(/^final .*truncated episode.*pass terminated/);
    expect(() => writer.appendColumns(columns, { final: { observation: [[3, 3]] } })).toThrow(/^terminated .*nStep or sequence rule/);
    await writer.close();
  });

  test("append accepts truncated without terminated for several lanes", () => {
    const replay = new Replay({ spec, tables });
    const writer = replay.writer({ lanes: 2, autoreset: "sameStep", ...options });
    writer.append(columns as never, { truncated: [0, 0] });
    writer.append(columns as never, { truncated: [0, 1], final: { observation: [null, [3, 3]] as never } });
    expect(replay.tables.t.size).toBe(2);
    const next = replay.writer({ lanes: 2, autoreset: "nextStep", ...options });
    next.append(columns as never, { truncated: [1, 1] });
    expect(next.episodeSteps).toBe(1);
  });
});
