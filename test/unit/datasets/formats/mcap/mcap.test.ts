/** Compares MCAP files, read as steps, with the results of the Python libraries. */
import { describe, expect, it } from "vitest";
import { openMcap } from "../../../../../src/datasets/formats/mcap/open-mcap.ts";
import type { McapOptions } from "../../../../../src/datasets/formats/mcap/options.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { ReadEpisode, RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { importRlds } from "../../../../../src/datasets/rlds/index.ts";
import { all } from "../../../../support/columns.ts";
import { some } from "../../../../support/size.ts";
import { dataFolder, fileBytes, json } from "../../rlds/data.ts";

interface Message {
  readonly time: string;
  // biome-ignore lint/suspicious/noExplicitAny: the results of Python
  readonly value: any;
}
const expected = json("mcap/expected.json") as { readonly [file: string]: { readonly [topic: string]: readonly Message[] } };
const path = (name: string) => dataFolder(`mcap/${name}.mcap`);

const TOPICS = {
  "observation/position": { topic: "/joint_states", field: "position" },
  "observation/joint": { topic: "/joint_states", field: ["position.1", "velocity.0"] },
  "observation/camera": "/camera",
  "observation/depth": "/depth",
  "observation/bgr": "/bgr",
  "observation.gripper": { topic: "/gripper", field: "force" },
  "observation/isOpen": { topic: "/gripper", field: "open" },
  action: "/command",
  reward: "/reward",
  task: "/task",
};

const twist = ({ linear, angular }: { readonly [part: string]: { readonly x: number; readonly y: number; readonly z: number } } & object) =>
  [linear, angular].flatMap((part) => [part?.x, part?.y, part?.z]);
/** The topic of each leaf, and its value in a message. */
const VALUES: { readonly [path: string]: readonly [topic: string, value: (message: Message["value"]) => unknown] } = {
  position: ["/joint_states", ({ position }) => position],
  joint: ["/joint_states", ({ position, velocity }) => [position[1], velocity[0]]],
  camera: ["/camera", ({ data }) => data],
  depth: [
    "/depth",
    ({ data, is_bigendian }) => [0, 2, 4, 8, 10, 12].map((at) => (is_bigendian ? data[at] * 256 + data[at + 1] : data[at] + data[at + 1] * 256)),
  ],
  bgr: ["/bgr", ({ data }) => [2, 1, 0, 5, 4, 3].map((at) => data[at])],
  gripper: ["/gripper", ({ force }) => force],
  isOpen: ["/gripper", ({ open }) => open],
  action: ["/command", twist],
  reward: ["/reward", ({ data }) => data],
  task: ["/task", ({ data }) => data],
};

/** Finds the values at ticks with a linear search. @param timeOf returns nanoseconds */
function resampled(rate: number, rule: "last" | "nearest", timeOf: (message: Message) => bigint = ({ time }) => BigInt(time)) {
  const topics = expected.arm as { readonly [topic: string]: readonly Message[] };
  const used = new Set(Object.values(VALUES).map(([topic]) => topic));
  const times = Object.entries(topics).flatMap(([topic, messages]) => (used.has(topic) ? messages.map(timeOf) : []));
  const origin = times.reduce((a, b) => (a < b ? a : b));
  const end = Number(times.reduce((a, b) => (a > b ? a : b)) - origin);
  const at = (message: Message) => Number(timeOf(message) - origin);
  const all: { readonly [leaf: string]: unknown }[] = [];
  for (let k = 0; (k * 1e9) / rate <= end; k++) {
    const tick = (k * 1e9) / rate;
    const step = Object.entries(VALUES).map(([leaf, [topic, value]]) => {
      const messages = topics[topic] as readonly Message[];
      const before = messages.filter((message) => at(message) <= tick).at(-1);
      const after = messages.find((message) => at(message) > tick);
      const chosen = before && rule === "nearest" && after && at(after) - tick < tick - at(before) ? after : before;
      return [leaf, chosen && value(chosen.value)] as const;
    });
    if (step.every(([, value]) => value !== undefined)) all.push(Object.fromEntries(step));
  }
  return all;
}

const plain = (value: unknown): unknown => (ArrayBuffer.isView(value) ? Array.from(value as Uint8Array) : value);

function stepsOf({ steps }: ReadEpisode) {
  return [...steps].map(({ observation, action, reward, task }) =>
    Object.fromEntries(Object.entries({ ...observation, action, reward, task }).map(([name, value]) => [name, plain(value)])),
  );
}

async function read(from: Parameters<typeof openMcap>[0], options: McapOptions): Promise<{ reader: RldsReader; episodes: ReadEpisode[] }> {
  const reader = (await openMcap(from, options)) as RldsReader;
  try {
    return { reader, episodes: await all(reader) };
  } finally {
    await reader.close();
  }
}

describe.each(some(["lz4", "zstd", "none", "unchunked"], 1))("%s", (name) => {
  it.each([
    ["last", 10],
    ["last", 30],
    ["last", 100],
    ["nearest", 10],
    ["nearest", 17],
    ["nearest", 3],
  ] as const)("has the %s values at %s Hz", async (sample, rate) => {
    const { episodes } = await read(path(name), { topics: TOPICS, rate, sample });
    expect(episodes.length).toBe(1);
    const [episode] = episodes as [ReadEpisode];
    const steps = resampled(rate, sample);
    expect(steps.length).toBeGreaterThan(4);
    expect(stepsOf(episode)).toEqual(steps);
  });
});

it("openMcap returns dtypes, timestamps and episode ends", async () => {
  const { reader, episodes } = await read(path("lz4"), { topics: TOPICS });
  expect(reader.stepSpec).toMatchObject({
    observation: {
      position: { dtype: "f64", shape: [3] },
      joint: { dtype: "f64", shape: [2] },
      camera: { dtype: "u8", shape: [6, 8, 3] },
      depth: { dtype: "u16", shape: [2, 3, 1] },
      bgr: { dtype: "u8", shape: [1, 2, 3] },
      gripper: { dtype: "f64", shape: [2] },
      isOpen: { dtype: "bool", shape: [] },
    },
    action: { dtype: "f64", shape: [6] },
    reward: { dtype: "f32", shape: [] },
    task: { dtype: "string", shape: [] },
    timestamp: { dtype: "f64", shape: [] },
  });
  const [episode] = episodes as [ReadEpisode];
  // The episode starts at the first tick after 0.05 s, when the first reward arrives.
  expect(episode).toMatchObject({ file: expect.stringMatching(/lz4\.mcap$/), start_time: 1_700_000_000_100_000_000n, final_step: "transition" });
  const steps = [...episode.steps];
  expect(steps.map(({ timestamp }) => timestamp)).toEqual(steps.map((_, i) => i / 10));
  expect(steps.at(-1)).toMatchObject({ is_last: true, is_terminal: false, discount: 1 });
  expect(reader.about).toMatchObject({ fps: 10, sample: "last", time: "log" });
});

describe.each(some(["little", "big"], 1))("CDR, %s-endian", (name) => {
  const messages = (expected[name] as { readonly [topic: string]: readonly Message[] })["/everything"] as readonly Message[];
  const DTYPES: { readonly [field: string]: string } = { a_bool: "bool", a_byte: "u8", a_char: "u8", a_float32: "f32", a_float64: "f64", a_string: "string" };
  const dtypeOf = (field: string) => DTYPES[field] ?? field.replace(/^a_uint/, "u").replace(/^a_int/, "i");
  const valueIn = (value: unknown): unknown => (typeof value === "string" && /^-?\d{9,}$/.test(value) ? BigInt(value) : value);
  const read10 = async (field: string | string[]) => {
    const { reader, episodes } = await read(path(name), {
      topics: { observation: { topic: "/everything", field }, action: { topic: "/everything", field: "a_int8" } },
    });
    expect(episodes.length).toBe(1);
    const leaf = reader.stepSpec as { readonly observation: { readonly dtype: string; readonly shape: readonly number[] } };
    return { leaf: leaf.observation, values: [...(episodes[0] as ReadEpisode).steps].map(({ observation }) => plain(observation)) };
  };

  it.each(["a_bool", "a_byte", "a_char", "a_float32", "a_float64", "a_string", ...[8, 16, 32, 64].flatMap((bits) => [`a_int${bits}`, `a_uint${bits}`])])(
    "%s",
    async (field) => {
      const { leaf, values } = await read10(field);
      expect(leaf).toEqual({ dtype: dtypeOf(field), shape: [] });
      expect(values).toEqual(messages.map(({ value }) => (/64$/.test(field) && /int/.test(field) ? BigInt(value[field]) : value[field])));
    },
  );

  it.each([
    ["bools", "bool", [3], (value: Message["value"]) => value.bools.map(Number)],
    ["fixed", "i16", [3], undefined],
    ["open", "u64", [3], (value: Message["value"]) => value.open.map(BigInt)],
    ["bounded", "f32", [2], undefined],
    ["doubles", "f64", [12], undefined],
    ["bytes", "i8", [3], undefined],
    ["strings", "string", [2], undefined],
    ["point.y", "f64", [], (value: Message["value"]) => value.point.y],
    ["point", "f64", [3], ({ point }: Message["value"]) => [point.x, point.flag, point.y]],
    [
      "two_points",
      "f64",
      [2, 3],
      ({ two_points }: Message["value"]) => two_points.flatMap(({ x, flag, y }: { x: number; flag: number; y: number }) => [x, flag, y]),
    ],
    ["points.1.x", "f32", [], (value: Message["value"]) => value.points[1].x],
    ["stamp", "i64", [], ({ stamp }: Message["value"]) => BigInt(stamp.sec) * 1_000_000_000n + BigInt(stamp.nanosec)],
  ] as const)("%s", async (field, dtype, shape, value) => {
    const { leaf, values } = await read10(field);
    expect(leaf).toEqual({ dtype, shape });
    expect(values).toEqual(messages.map((message) => (value ?? ((all) => all[field].map(valueIn)))(message.value)));
  });

  it("several fields become one vector", async () => {
    const { leaf, values } = await read10(["bytes", "point.x"]);
    expect(leaf).toEqual({ dtype: "f64", shape: [4] });
    expect(values).toEqual(messages.map(({ value }) => [...value.bytes, value.point.x]));
  });

  it("mixed dtypes and missing fields are rejected", async () => {
    await expect(read10(["a_string", "a_int8"])).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/mixes the dtypes string, i8\. Set field to a list of fields/),
    });
    await expect(read10("points.1.z")).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/no field points\.1\.z\. The fields are x, flag, y/),
    });
    await expect(read10("pionts.1.x")).rejects.toMatchObject({ message: expect.stringMatching(/no field pionts\. Did you mean points\? The fields are /) });
  });

  it("lists have neither a length field nor elements after their end", async () => {
    for (const field of ["points.length", "a_string.length", "points.9"])
      await expect(read10(field), field).rejects.toMatchObject({
        code: "SPEC_MISMATCH",
        message: expect.stringMatching(/the message has no field (points|a_string)\.(length|9)/),
      });
  });
});

describe("times", () => {
  const stamps = ({ value }: Message) => {
    const { sec, nanosec, nsec } = value.header?.stamp ?? value.timestamp;
    return BigInt(sec) * 1_000_000_000n + BigInt(nanosec ?? nsec);
  };
  const topics = {
    "observation/position": TOPICS["observation/position"],
    "observation/gripper": TOPICS["observation.gripper"],
    action: { topic: "/joint_states", field: "velocity" },
  };

  it("are taken from logs, publishers or headers", async () => {
    const starts = async (time: "log" | "publish" | "header") => (await read(path("none"), { topics, time })).episodes[0]?.start_time;
    expect(await starts("log")).toBe(1_700_000_000_000_000_000n);
    expect(await starts("publish")).toBe(1_700_000_000_000_000_000n - 1_000_000n);
    const [first] = (expected.arm as { readonly [topic: string]: readonly Message[] })["/joint_states"] as [Message];
    expect(await starts("header")).toBe(stamps(first));
  });

  it("in messages have fields for seconds and nanoseconds", async () => {
    const at = (part: string) => ({ topic: "/joint_states", field: `header.stamp.${part}` });
    const topics = { observation: at("sec"), action: at("nanosec") };
    const { reader, episodes } = await read(path("none"), { topics });
    expect(reader.stepSpec).toMatchObject({ observation: { dtype: "i32", shape: [] }, action: { dtype: "u32", shape: [] } });
    const all = (expected.arm as { readonly [topic: string]: readonly Message[] })["/joint_states"] as readonly Message[];
    const steps = [...(episodes[0] as ReadEpisode).steps].map(
      ({ observation, action }) => BigInt(observation as number) * 1_000_000_000n + BigInt(action as number),
    );
    expect(steps.length).toBeGreaterThan(10);
    for (const step of steps) expect(all.map(stamps)).toContain(step);
    await expect(openMcap(path("none"), { topics: { ...topics, observation: at("secs") } })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/no field header\.stamp\.secs\. Did you mean sec\?/),
    });
  });

  it("from headers require a header in every topic", async () => {
    await expect(read(path("none"), { topics: TOPICS, time: "header" })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/Pass time: "log" to use/),
    });
  });
});

describe("episodes", () => {
  const bytes = (name: string) => fileBytes(path(name));
  const topics = { observation: TOPICS["observation/position"], action: TOPICS.action };

  it("are the files of a folder, or one bag with metadata.yaml", async () => {
    const files = new Map([
      ["b_10.mcap", bytes("lz4")],
      ["b_9.mcap", bytes("zstd")],
    ]);
    const { episodes } = await read(files, { topics });
    expect(episodes.map(({ file }) => file)).toEqual(["b_9.mcap", "b_10.mcap"]);
    const bag = await read(new Map([...files, ["metadata.yaml", new Uint8Array(1)]]), { topics });
    expect(bag.episodes.length).toBe(1);
  });

  it("end at pauses longer than episodesBy.gap", async () => {
    // The camera sends a message every 67 ms, and the joints every 20 ms.
    const camera = { observation: "/camera", action: "/camera" };
    expect((await read(path("lz4"), { topics: camera, rate: 100, episodesBy: { gap: 0.07 } })).episodes.length).toBe(1);
    const { episodes } = await read(path("lz4"), { topics: camera, rate: 100, episodesBy: { gap: 0.06 } });
    expect(episodes.length).toBe((expected.arm as { readonly [topic: string]: unknown[] })["/camera"]?.length);
  });

  it("are separated by the topic in episodesBy", async () => {
    const { episodes } = await read(path("unchunked"), {
      topics: { observation: TOPICS["observation/position"], action: TOPICS["observation/joint"] },
      rate: 50,
      episodesBy: { topic: "/task" },
    });
    // The text is sent every 200 ms for two seconds, starting at 40 ms.
    expect(
      episodes
        .map(({ steps }) => steps.length)
        .slice(0, -1)
        .every((length) => length >= 9 && length <= 11),
    ).toBe(true);
    expect(episodes.length).toBe(9);
    const open = await read(path("unchunked"), {
      topics: { observation: TOPICS["observation/position"], action: TOPICS["observation/joint"] },
      rate: 50,
      episodesBy: { topic: "/gripper", field: "open" },
    });
    // The gripper is open for one of three messages, which is 100 ms.
    expect(open.episodes.length).toBe(7);
    for (const { steps } of open.episodes) expect(steps.length).toBeLessThanOrEqual(6);
  });
});

describe("options", () => {
  it("the error without topics lists the topics and names --topics", async () => {
    for (const name of ["zstd", "unchunked"])
      await expect(openRlds(path(name))).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: expect.stringMatching(/\/camera \(sensor_msgs\/msg\/CompressedImage, cdr, 29 messages, 14\.\d Hz\).*--topics/),
      });
  });

  it("an unknown topic is rejected with a list of topics or a suggestion", async () => {
    await expect(openMcap(path("lz4"), { topics: { observation: "/nothing", action: "/command" } })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/refers to \/nothing.*\/joint_states/),
    });
    for (const action of ["/comand", "command"])
      await expect(openMcap(path("lz4"), { topics: { observation: TOPICS["observation/position"], action } })).rejects.toMatchObject({
        code: "SPEC_MISMATCH",
        message: expect.stringMatching(/Did you mean \/command\?/),
      });
  });

  it("episodesBy with an unknown topic or field is rejected", async () => {
    const topics = { observation: TOPICS["observation/position"], action: TOPICS["observation/joint"] };
    await expect(openMcap(path("lz4"), { topics, episodesBy: { topic: "/taks" } })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/the option episodesBy refers to \/taks, but the file has no message on that topic\. Did you mean \/task\?/),
    });
    await expect(openMcap(path("lz4"), { topics, episodesBy: { topic: "/task", field: "date" } })).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/episodesBy cannot be read from \/task: the message has no field date\. Did you mean data\?/),
    });
  });

  it("done must be a single number or flag", async () => {
    const topics = { observation: TOPICS["observation/position"], action: TOPICS["observation/joint"] };
    for (const done of ["/task", { topic: "/joint_states", field: "position" }])
      await expect(openMcap(path("lz4"), { topics: { ...topics, done } })).rejects.toMatchObject({
        code: "SPEC_MISMATCH",
        message: expect.stringMatching(/done must .*got .*\. In topics, name the field to read/),
      });
  });

  it.each([
    [{ topics: { observation: "/camera" } }, /topics must .*action/],
    [{ topics: { observation: "/a", action: { topic: "/b", fild: "x" } } }, /topics\["action"\] has no option "fild"/],
    [{ topics: { observation: "/a", action: "/b", "observation/x": "/c" } }, /none of which begins with another/],
    [{ topics: { observation: "/a", action: "/b", is_last: "/c" } }, /Use episodesBy to set where/],
    [{ rate: 0 }, /rate must be/],
    [{ sample: "first" }, /sample must be "last" or "nearest"/],
    [{ time: "clock" }, /time must be "log"/],
    [{ episodesBy: { gap: -1 } }, /episodesBy\.gap/],
    [{ episodesBy: 3 }, /episodesBy must be/],
  ])("%o is rejected", async (options, message) => {
    await expect(openMcap(path("lz4"), options as McapOptions)).rejects.toThrow(message);
  });

  it("without and rename select leaves", async () => {
    const { reader, episodes } = await read(path("lz4"), {
      topics: TOPICS,
      without: ["observation/camera"],
      rename: { "observation/depth": "observation/far" },
    });
    expect(Object.keys((reader.stepSpec as { observation: object }).observation)).not.toContain("camera");
    expect([...(episodes[0] as ReadEpisode).steps][0]?.observation.far.length).toBe(6);
  });

  it("openRlds detects the format, and importRlds accepts the dataset", async () => {
    const reader = await openRlds(path("zstd"), { topics: TOPICS });
    expect(reader.format).toBe("mcap");
    let steps = 0;
    for await (const episode of importRlds(reader, { mode: "strict" })) steps += [...(episode.steps as Iterable<unknown>)].length;
    expect(steps).toBe(resampled(10, "last").length);
    await reader.close();
  });
});
