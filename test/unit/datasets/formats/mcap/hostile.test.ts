/** Tests MCAP files that are truncated, damaged, or claim impossible sizes. */
import { McapRecordBuilder } from "@mcap/core";
import { describe, expect, it } from "vitest";
import { unlz4 } from "../../../../../src/datasets/formats/mcap/lz4.ts";
import { openMcap } from "../../../../../src/datasets/formats/mcap/open-mcap.ts";
import type { McapOptions } from "../../../../../src/datasets/formats/mcap/options.ts";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { bytesFile } from "../../../../../src/datasets/formats/sources/bytes-source.ts";
import { RldsError } from "../../../../../src/datasets/model/rlds-error.ts";
import { all } from "../../../../support/columns.ts";
import { TestRandom } from "../../../../support/random.ts";
import { scaled } from "../../../../support/size.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";

const bytes = (name: string) => fileBytes(dataFolder(`mcap/${name}.mcap`));
const JOINTS = { topics: { observation: { topic: "/joint_states", field: "position" }, action: "/command" } };
const ALL = {
  topics: {
    "observation/joint": { topic: "/joint_states", field: "position" },
    "observation/camera": "/camera",
    "observation/depth": "/depth",
    "observation/force": { topic: "/gripper", field: "force" },
    action: "/command",
    task: "/task",
  },
};

async function read(from: Uint8Array<ArrayBuffer>, options: McapOptions) {
  const reader = (await openMcap(bytesFile("robot.mcap", from), options)) as RldsReader;
  const episodes = await all(reader);
  const steps = episodes.flatMap(({ steps }) => [...steps]);
  await reader.close();
  return { reader, episodes, steps };
}

describe("a truncated file", () => {
  it.each(["lz4", "zstd", "none", "unchunked"])("%s throws an error, and salvage reads the intact part", async (name) => {
    const whole = bytes(name);
    const all = (await read(whole, { ...JOINTS, rate: 50 })).steps.length;
    const cut = whole.slice(0, Math.floor(whole.length * 0.7));
    await expect(read(cut, JOINTS)).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/truncated.*Pass salvage: true to read the rest/),
    });
    const { reader, steps } = await read(cut, { ...JOINTS, rate: 50, salvage: true });
    expect(steps.length).toBeGreaterThan(all / 4);
    expect(steps.length).toBeLessThan(all);
    expect(reader.losses).toMatchObject([{ code: "CORRUPT", reason: expect.stringMatching(/truncated/) }]);
  });

  it("without footer and index keeps all steps with salvage", async () => {
    const whole = bytes("unchunked");
    // The data ends with the last record before the summary; the footer contains the summary's offset.
    const start = Number(new DataView(whole.buffer).getBigUint64(whole.length - 28, true));
    const end = start === 0 ? whole.length - 37 : start;
    const { reader, steps } = await read(whole.slice(0, end - 13), { ...JOINTS, salvage: true });
    expect(steps.length).toBe((await read(whole, JOINTS)).steps.length);
    expect(reader.losses?.length).toBe(1);
  });
});

it("with salvage, only the damaged chunk is lost", async () => {
  const whole = bytes("none");
  const damaged = whole.slice();
  // The checksum reveals a changed value in the third chunk.
  let at = 8;
  for (let chunks = 0; ; at += 9 + Number(new DataView(whole.buffer).getBigUint64(at + 1, true))) if (whole[at] === 6 && ++chunks === 3) break;
  damaged[at + 2000] = (damaged[at + 2000] as number) ^ 1;
  await expect(read(damaged, JOINTS)).rejects.toMatchObject({
    code: "CORRUPT",
    offset: at,
    message: expect.stringMatching(/a chunk cannot be read: Incorrect chunk CRC/),
  });
  const { reader, steps } = await read(damaged, { ...JOINTS, salvage: true });
  expect(reader.losses).toMatchObject([{ code: "CORRUPT", offset: at }]);
  expect(steps.length).toBe((await read(whole, JOINTS)).steps.length);
});

/** Returns a file without chunks that has one topic. */
function file(options: {
  schema?: string;
  encoding?: string;
  messages: readonly Uint8Array[];
  message?: string;
  times?: readonly bigint[];
}): Uint8Array<ArrayBuffer> {
  const { schema = "float64 data", encoding = "ros2msg", messages, message = "cdr", times } = options;
  const builder = new McapRecordBuilder();
  builder.writeMagic();
  builder.writeHeader({ profile: "", library: "" });
  builder.writeSchema({ id: 1, name: "test/Type", encoding, data: new TextEncoder().encode(schema) });
  builder.writeChannel({ id: 1, schemaId: 1, topic: "/t", messageEncoding: message, metadata: new Map() });
  for (const [i, data] of messages.entries()) {
    const time = times?.[i] ?? BigInt(i) * 100_000_000n;
    builder.writeMessage({ channelId: 1, sequence: i, logTime: time, publishTime: time, data });
  }
  builder.writeDataEnd({ dataSectionCrc: 0 });
  builder.writeFooter({ summaryStart: 0n, summaryOffsetStart: 0n, summaryCrc: 0 });
  builder.writeMagic();
  return new Uint8Array(builder.buffer);
}

const T = { topics: { observation: "/t", action: "/t" } };
const cdr = (...rest: readonly number[]) => Uint8Array.of(0, 1, 0, 0, ...rest);
const SEPARATOR = `\n${"=".repeat(80)}\n`;
const u32 = (value: number) => [...new Uint8Array(Uint32Array.of(value).buffer)];

describe("invalid schemas and messages", () => {
  it.each<readonly [string, Parameters<typeof file>[0], string, RegExp]>([
    ["a type within itself", { schema: `test/A a${SEPARATOR}MSG: test/A\ntest/A a`, messages: [cdr(0)] }, "CORRUPT", /schema test\/Type of \/t cannot be read/],
    [
      "types within each other",
      { schema: `test/A a${SEPARATOR}MSG: test/A\ntest/B[] b${SEPARATOR}MSG: test/B\ntest/A[] a`, messages: [cdr(0)] },
      "CORRUPT",
      /contain themselves/,
    ],
    ["an unknown type", { schema: "test/A a", messages: [cdr(0)] }, "CORRUPT", /schema test\/Type of \/t cannot be read/],
    ["an invalid schema", { schema: "{]", messages: [cdr(0)] }, "CORRUPT", /cannot be read/],
    ["an array of 10^9 in the schema", { schema: "float64[1000000000] x", messages: [cdr(0)] }, "CORRUPT", /needs at least 8000000004/],
    [
      "arrays of arrays of nothing",
      { schema: `test/A[100000] a${SEPARATOR}MSG: test/A\ntest/B[100000] b${SEPARATOR}MSG: test/B\n`, messages: [cdr(0)] },
      "CORRUPT",
      /needs at least 10000000004/,
    ],
    [
      "a sequence of 10^9 numbers",
      { schema: "float64[] x", messages: [cdr(...u32(1e9), 0, 0)] },
      "CORRUPT",
      /a sequence has 1000000000 elements, but only 2 bytes are left/,
    ],
    [
      "the same in the other byte order",
      { schema: "float64[] x", messages: [Uint8Array.of(0, 0, 0, 0, 59, 154, 202, 0, 1)] },
      "CORRUPT",
      /a sequence has 1000000000/,
    ],
    [
      "a sequence of 10^9 empty messages",
      { schema: `test/A[] a${SEPARATOR}MSG: test/A\n`, messages: [cdr(...u32(1e9))] },
      "CORRUPT",
      /a sequence has 1000000000/,
    ],
    ["a text of 10^9 bytes", { schema: "string x", messages: [cdr(...u32(1e9), 65)] }, "CORRUPT", /cannot be decoded as test\/Type/],
    ["a message that is cut", { messages: [cdr(0, 0)] }, "CORRUPT", /the message has 6 bytes, but needs at least 12/],
    ["invalid JSON", { message: "json", encoding: "jsonschema", messages: [Uint8Array.of(123)] }, "CORRUPT", /cannot be decoded as test\/Type/],
    [
      "JSON in depth",
      { message: "json", encoding: "jsonschema", messages: [new TextEncoder().encode("[".repeat(50_000) + "]".repeat(50_000))] },
      "SPEC_MISMATCH",
      /nested more than 64 levels deep/,
    ],
    [
      "ragged lists",
      { message: "json", encoding: "jsonschema", messages: [new TextEncoder().encode("[[1,2],[3]]")] },
      "SPEC_MISMATCH",
      /lists of different lengths/,
    ],
    [
      "protobuf",
      { message: "protobuf", encoding: "protobuf", messages: [cdr(0)] },
      "UNSUPPORTED",
      /messages of \/t have the encoding protobuf and the schema encoding protobuf/,
    ],
    ["IDL", { encoding: "ros2idl", messages: [cdr(0)] }, "UNSUPPORTED", /cdr and the schema encoding ros2idl/],
  ])("%s", async (_, options, code, message) => {
    const begin = performance.now();
    await expect(read(file(options), T)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(performance.now() - begin).toBeLessThan(10_000);
  });

  it("a length that changes is an error, and a loss with salvage", async () => {
    const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
    const from = file({ message: "json", encoding: "jsonschema", messages: [json({ x: [1, 2] }), json({ x: [1, 2, 3] })] });
    await expect(read(from, T)).rejects.toMatchObject({
      code: "SPEC_MISMATCH",
      message: expect.stringMatching(/f64 of shape \[3\] in a message of \/t, but was f64 of shape \[2\]/),
    });
    expect((await read(from, { ...T, salvage: true })).reader.losses?.length).toBe(1);
  });

  it("times that are years apart require episodesBy.gap", async () => {
    const messages = [cdr(...new Array<number>(8).fill(0)), cdr(...new Array<number>(8).fill(0))];
    const from = file({ messages, times: [0n, 2n ** 62n] });
    await expect(read(from, T)).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringMatching(/episodesBy: \{ gap: … \}/) });
    expect((await read(from, { ...T, episodesBy: { gap: 1 } })).episodes.length).toBe(2);
  });

  it("messages larger than maxBytes are rejected", async () => {
    const messages = Array.from({ length: 1000 }, () => cdr(...new Array<number>(8).fill(0)));
    await expect(read(file({ messages }), { ...T, maxBytes: 20_000 })).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringMatching(/maxBytes/) });
  });
});

describe("wrong sizes", () => {
  const patched = (name: string, patch: (view: DataView, chunk: number) => void) => {
    const all = bytes(name).slice();
    const view = new DataView(all.buffer);
    let at = 8;
    while (all[at] !== 6) at += 9 + Number(view.getBigUint64(at + 1, true));
    patch(view, at);
    return all;
  };

  it.each([
    [
      "of a chunk before compression",
      "lz4",
      (view: DataView, at: number) => view.setBigUint64(at + 9 + 16, 10n ** 9n, true),
      /cannot decompress to 1000000000/,
    ],
    [
      "of a chunk before compression",
      "zstd",
      (view: DataView, at: number) => view.setBigUint64(at + 9 + 16, 10n ** 9n, true),
      /the chunk has \d+ bytes instead of the declared 1000000000/,
    ],
    ["of a chunk before compression", "zstd", (view: DataView, at: number) => view.setBigUint64(at + 9 + 16, 100n, true), /more than the declared 100 bytes/],
    [
      "of a chunk before compression",
      "lz4",
      (view: DataView, at: number) => view.setBigUint64(at + 9 + 16, 2n ** 63n, true),
      /more than the 1073741824 that maxBytes allows. Increase maxBytes/,
    ],
    [
      "of a record",
      "none",
      (view: DataView, at: number) => view.setBigUint64(at + 1, 10n ** 9n, true),
      /a record declares 1000000000 bytes, but only \d+ are left/,
    ],
    [
      "of a record",
      "none",
      (view: DataView, at: number) => view.setBigUint64(at + 1, 2n ** 64n - 1n, true),
      /a record declares \d+ bytes, but only \d+ are left/,
    ],
    [
      "of a chunk's records",
      "none",
      (view: DataView, at: number) => view.setBigUint64(at + 9 + 32, 10n ** 9n, true),
      /the chunk declares 1000000000 bytes of records/,
    ],
  ] as const)("%s, %s", async (_, name, patch, message) => {
    await expect(read(patched(name, patch), JOINTS)).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringMatching(message) });
  });

  it("an unknown compression is rejected by name", async () => {
    const all = bytes("lz4").slice();
    for (let at = 0; at < all.length - 3; at++) if (all[at] === 108 && all[at + 1] === 122 && all[at + 2] === 52) all.set([98, 122, 50], at);
    await expect(read(all, JOINTS)).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringMatching(/compressed with "bz2"/) });
  });

  it("LZ4 stops at the declared size", () => {
    const run = [0x1f, 0, 1, 0, ...new Array<number>(1000).fill(255), 0];
    const frame = Uint8Array.from([4, 34, 77, 24, 0x40, 0x40, 0, ...u32(run.length), ...run, 0, 0, 0, 0]);
    expect(() => unlz4(frame, 1000)).toThrow("more than the declared 1000 bytes");
    expect(unlz4(frame, 255_020).length).toBe(255_020);
  });
});

it("damaged files either read or throw an RldsError that names a file", async () => {
  const random = new TestRandom(17);
  const counts = { read: 0, refused: 0 };
  for (const name of ["lz4", "zstd", "none", "unchunked"]) {
    const whole = bytes(name);
    for (let i = 0; i < scaled(150); i++) {
      const mutant = random.below(5) === 0 ? whole.slice(0, random.below(whole.length)) : whole.slice();
      for (let n = random.below(3); n >= 0 && mutant.length > 0; n--) {
        const at = random.below(mutant.length);
        mutant[at] = (mutant[at] as number) ^ (1 << random.below(8));
      }
      const salvage = random.below(2) === 0;
      try {
        await read(mutant, { ...ALL, maxBytes: 2 ** 22, salvage });
        counts.read++;
      } catch (error) {
        if (!(error instanceof RldsError)) throw error;
        expect(typeof error.file).toBe("string");
        counts.refused++;
      }
      if (i % 10 === 0)
        await openRlds(bytesFile("robot.mcap", mutant), { maxBytes: 2 ** 22 }).then(
          () => expect.unreachable(),
          (error) => expect(error).toBeInstanceOf(RldsError),
        );
    }
  }
  expect(Math.min(counts.read, counts.refused)).toBeGreaterThan(0);
});
