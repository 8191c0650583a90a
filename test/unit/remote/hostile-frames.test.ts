/** Tests frames from a hostile peer: its connection must be closed with a code and a reason, without using memory or affecting other peers. */
import { describe, expect, test } from "vitest";
import { bool, f32, fifo, i32, Replay, shared, text, u8 } from "../../../src/index.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { errorFrom } from "../../support/later.ts";
import { TestRandom } from "../../support/random.ts";
import { bytesOf, expectError } from "../../support/refused.ts";
import { each, scaled, whole } from "../../support/size.ts";
import { frame, RawPeer } from "./raw-peer.ts";
import { memoryChannels, turn } from "./support.ts";

const spec = { flag: bool(), n: i32(), name: text({ maxBytes: 5 }), x: f32(2) };
const leaves = [
  { path: "flag", text: "bool of shape []" },
  { path: "n", text: "i32 of shape []" },
  { path: "name", text: "string of shape [] and maxBytes 5" },
  { path: "x", text: "f32 of shape [2]" },
];
const hello = { version: 1, session: "0123456789abcdefABCDEF", resume: false, reconnects: false, leaves, lanes: 1, receipt: 0 };
const made = () => new Replay({ spec, tables: { t: { maxSize: 1000, sampler: fifo() } } });
const upTo = (n: number) => [...Array(n).keys()];
const items = [{ table: "t", length: 1 }] as const;
const stepAt = (n: number) => ({ flag: n % 2 === 0, n, name: `${n % 100}`, x: [n, n] });

/** Creates a Replay with an honest writer, and a peer that has sent a hello. */
async function meet(options: object = {}) {
  const replay = made();
  const own = replay.writer({ items });
  for (let n = 0; n < 5; n++) own.append(stepAt(n));
  const [here, there] = memoryChannels();
  const peer = new RawPeer(there);
  const accepting = replay.acceptWriter(here, { items, ...options });
  await peer.heard("invite");
  peer.send("hello", hello);
  const [accepted, { fields: welcome }] = await Promise.all([accepting, peer.heard("welcome")]);
  return { replay, own, peer, accepted, welcome };
}

/** Returns the columns of `rows` rows, in the format of the protocol page. */
function columnsOf(rows: number) {
  const names = new Uint8Array(12 * rows);
  for (let r = 0; r < rows; r++) names.set([2, 0, 0, 0, 0x68, 0x69], 12 * r);
  return [
    new Uint8Array(rows).fill(1),
    Int32Array.from({ length: rows }, (_, r) => 100 + r),
    names,
    Float32Array.from({ length: 2 * rows }, (_, r) => r),
    new Uint8Array(rows),
  ];
}
const block = (number: number, slots: number, rest: object = {}) => ({ number, slots, calls: [], columns: [], ...rest });

describe("a peer that follows the protocol page", () => {
  test("can send hand-made blocks and columns", async () => {
    const { replay, peer, accepted, welcome } = await meet();
    expect(welcome).toMatchObject({
      keep: 32,
      across: false,
      tables: ["t"],
      rules: ["t"],
      maxInFlight: 1024,
      confirm: "memory",
      received: 0,
      confirmed: 0,
      shared: [],
    });
    peer.send("block", block(1, 3, { calls: [2, 0, 0, 1, 7.5, 0, 0] }), columnsOf(3));
    const rows = columnsOf(2);
    peer.send("columns", { number: 2, rows: 2, ends: false, finals: 0, priorities: [1] }, [...rows.slice(0, 4), Float64Array.of(3, 4)] as never);
    peer.send("flush", { id: 9 });
    expect((await peer.heard("flushed")).fields).toEqual({ id: 9 });
    expect(peer.frames.filter(({ kind }) => kind === "confirmation").map(({ fields }) => fields.number)).toEqual([1, 2]);
    peer.send("bye");
    await peer.closed;
    expect([peer.code, peer.frames.at(-1)?.kind, accepted.steps, (await accepted.closed).how]).toEqual([1000, "closed", 5, "left"]);
    const { steps, info } = replay.tables.t.sample(11, { replacement: false });
    expect([...steps.n.data].slice(5)).toEqual([100, 101, 101, 102, 100, 101]);
    expect([...info.priorities].slice(5)).toEqual([1, 1, 7.5, 1, 3, 4]);
    expect((steps.name as unknown as { data: string[] }).data.slice(5)).toEqual(Array(6).fill("hi"));
  });
});

describe("a peer that violates the protocol", () => {
  const [flags, ns, names, xs, ends] = columnsOf(1);
  const whole = [flags, ns, names, xs, ends] as never;
  const wrong: [string, number, (peer: RawPeer) => void, RegExp][] = [
    ["an empty message", 4002, (peer) => peer.raw(new Uint8Array(0)), /has only 0 bytes/],
    ["an unknown kind", 4002, (peer) => peer.send(99), /unknown kind 99/],
    ["a frame of the other end", 4002, (peer) => peer.send("welcome"), /of the kind welcome came from the wrong end/],
    ["a text beyond the frame", 4002, (peer) => peer.raw(Uint8Array.of(5, 0, 0, 0, 255, 255, 255, 255, 1)), /declares 4294967295 bytes/],
    ["invalid JSON", 4002, (peer) => peer.raw(Uint8Array.of(5, 0, 0, 0, 2, 0, 0, 0, 123, 123)), /not valid JSON/],
    ["JSON that is not an object", 4002, (peer) => peer.raw(Uint8Array.of(5, 0, 0, 0, 2, 0, 0, 0, 91, 93)), /not an object/],
    ["invalid UTF-8", 4002, (peer) => peer.raw(Uint8Array.of(5, 0, 0, 0, 2, 0, 0, 0, 255, 254)), /not valid JSON/],
    ["a head that is not zero", 4002, (peer) => peer.raw(Uint8Array.of(14, 1, 0, 0, 2, 0, 0, 0, 123, 125)), /are not zero/],
    ["a block without fields", 4002, (peer) => peer.send("block"), /lacks a field/],
    ["a number that is skipped", 4002, (peer) => peer.send("block", block(2, 1), whole), /never sends/],
    ["more slots than bytes", 4002, (peer) => peer.send("block", block(1, 2), whole), /has a body of/],
    ["so many slots that nobody has room", 4003, (peer) => peer.send("block", block(1, 1e9)), /limits.frameBytes allows/],
    ["slots beyond all numbers", 4003, (peer) => peer.send("block", block(1, Number.MAX_SAFE_INTEGER)), /limits.frameBytes allows/],
    ["invalid slots", 4002, (peer) => peer.send("block", block(1, 0.5)), /lacks a field/],
    ["a body too long", 4002, (peer) => peer.send("block", block(1, 1), [...(whole as []), new Uint8Array(8)]), /has a body of/],
    ["frames that are not shared", 4002, (peer) => peer.send("block", block(1, 1, { frames: [1] }), whole), /kinds of shared frames/],
    ["a call of an unknown table", 4002, (peer) => peer.send("block", block(1, 1, { calls: [1, 0, 7, 1, 1, 0, 0] }), whole), /never sends/],
    ["a call of an unknown kind", 4002, (peer) => peer.send("block", block(1, 1, { calls: [1, 9, 0, 1, 1, 0, 0] }), whole), /never sends/],
    ["an item longer than the window", 4002, (peer) => peer.send("block", block(1, 1, { calls: [1, 0, 0, 9, 1, 0, 0] }), whole), /length must be/],
    ["columns of no rows", 4002, (peer) => peer.send("columns", { number: 1, rows: 0, ends: false, finals: 0, priorities: [0] }), /is inconsistent/],
    [
      "more final steps than ends",
      4002,
      (peer) => peer.send("columns", { number: 1, rows: 1, ends: true, finals: 2, priorities: [0] }, whole),
      /is inconsistent/,
    ],
    ["an additional rule", 4002, (peer) => peer.send("columns", { number: 1, rows: 1, ends: false, finals: 0, priorities: [0, 0] }, whole), /is inconsistent/],
    [
      "an invalid priority",
      4002,
      (peer) => peer.send("columns", { number: 1, rows: 1, ends: false, finals: 0, priorities: [1] }, [flags, ns, names, xs, Float64Array.of(-1)] as never),
      /priorit/,
    ],
    ["an invalid receipt", 4002, (peer) => peer.send("receipt", { number: "x" }), /never sends/],
    ["a flush without a number", 4002, (peer) => peer.send("flush", {}), /never sends/],
    ["a frame that is too large", 4003, (peer) => peer.raw(frame("block", block(1, 1), [new Uint8Array(1 << 18)])), /at most 131072/],
    [
      "calls without end",
      4004,
      (peer) =>
        upTo(1100).forEach((id) => {
          peer.send("flush", { id });
        }),
      /calls are waiting for an answer/,
    ],
  ];

  test.each(wrong)("after %s, is closed with %i and a reason, and other writers are unaffected", async (_, code, act, says) => {
    const { replay, own, peer, accepted } = await meet({ limits: { frameBytes: 1 << 17 } });
    const rateLimited = replay.tables.t.size;
    act(peer);
    await peer.closed;
    const { how, error } = await accepted.closed;
    expect(how).toBe("failed");
    expect([(error as Error).message, code]).toEqual([expect.stringMatching(says), peer.code]);
    expect(new TextEncoder().encode(peer.reason).length).toBeLessThanOrEqual(123);
    expect(peer.frames.at(-1)).toMatchObject({ kind: "closed", fields: { error: { message: (error as Error).message } } });
    // Only the honest writer remains, and its data is unchanged.
    expect(replay.writers).toEqual([own]);
    own.append(stepAt(5));
    expect(replay.tables.t.size).toBeGreaterThan(rateLimited);
    expect([...replay.tables.t.sample(5, { replacement: false }).steps.n.data].slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  });

  test("is closed with 4004 if it sends more steps than maxInFlight allows", async () => {
    const { peer, accepted, replay } = await meet({ maxInFlight: 4, limits: { stepsPerSecond: 1 } });
    for (let number = 1; number <= 4; number++) peer.send("block", block(number, 2), columnsOf(2) as never);
    await peer.closed;
    expect([peer.code, (await accepted.closed).how, replay.writers.length]).toEqual([4004, "failed", 1]);
  });

  test("fails with INVALID_DATA if the replacement of invalid UTF-8 exceeds maxBytes", async () => {
    const name = new Uint8Array(12);
    name.set([5, 0, 0, 0, 255, 254, 253, 252, 251]);
    const { peer, accepted } = await meet();
    peer.send("block", block(1, 1), [flags, ns, name, xs, ends] as never);
    peer.send("bye");
    await peer.closed;
    const { how, error } = await accepted.closed;
    // Each of the five invalid UTF-8 bytes becomes a replacement character of three bytes, which exceeds the limit.
    expect(how).toBe("failed");
    expectError(error as Error, "INVALID_DATA", /name/);
  });

  test.each([
    ["another version", { version: 2 }, "UNSUPPORTED"],
    ["a session that anybody guesses", { session: "1" }, "CORRUPT"],
    ["no leaves", { leaves: 3 }, "CORRUPT"],
    ["another spec", { leaves: leaves.slice(1) }, "SPEC_MISMATCH"],
    ["leaves in another order", { leaves: [...leaves].reverse() }, "SPEC_MISMATCH"],
    ["no lanes", { lanes: 0 }, RangeError],
    ["a session that nobody knows", { resume: true }, "NOT_FOUND"],
  ] as const)("a hello with %s is rejected with 4001", async (_, fields, code) => {
    const replay = made();
    const [here, there] = memoryChannels();
    const peer = new RawPeer(there);
    const refused = errorFrom(replay.acceptWriter(here, {}));
    await peer.heard("invite");
    peer.send("hello", { ...hello, ...fields });
    expectError(await refused, code as never);
    await peer.closed;
    expect([peer.code, peer.frames.at(-1)?.kind, replay.writers.length]).toEqual([4001, "refused", 0]);
  });
});

/** Records the frames of an honest writer. */
async function recorded(): Promise<Uint8Array<ArrayBuffer>[]> {
  const [here, there] = memoryChannels();
  const frames: Uint8Array<ArrayBuffer>[] = [];
  there.onSend = (bytes) => {
    frames.push(bytes.slice());
    return bytes;
  };
  const [, writer] = await Promise.all([made().acceptWriter(here, { items }), remoteWriter(there, { spec })]);
  for (let n = 0; n < 6; n++) await writer.append(stepAt(n));
  await writer.createItem("t", { length: 1, priority: 3, columns: { last: { leaf: "n", at: -1 } } });
  await writer.endEpisode({ final: { n: 7 }, terminated: true } as never);
  await writer.appendColumns(
    {
      flag: [1, 0],
      n: [8, 9],
      name: ["a", "b"],
      x: [
        [1, 2],
        [3, 4],
      ],
    },
    { truncated: [0, 1], terminated: [0, 0], final: { n: [5] }, priorities: { t: [1, 2] } } as never,
  );
  await writer.flush();
  await writer.close();
  return frames;
}

/** Sends frames to a new Replay. Returns how its writer ended, or why the writer was not accepted. */
async function played(frames: readonly Uint8Array[]): Promise<{ readonly outcome: string; readonly replay: ReturnType<typeof made>; readonly peer: RawPeer }> {
  const replay = made();
  const [here, there] = memoryChannels();
  const peer = new RawPeer(there);
  const accepting = replay.acceptWriter(here, { items });
  accepting.catch(() => {});
  await peer.heard("invite");
  for (const bytes of frames) peer.raw(bytes);
  await turn(0);
  await turn(0);
  there.close();
  const outcome = await accepting.then(
    async (accepted) => (await accepted.closed).how,
    (error) => (error as Error).name,
  );
  return { outcome, replay, peer };
}

const OUTCOMES = ["left", "gone", "failed", "ReplayError", "RangeError", "TypeError"];

describe("a recorded conversation", () => {
  test("is accepted in full if it is unchanged", async () => {
    const frames = await recorded();
    const { outcome, replay } = await played(frames);
    expect([outcome, replay.tables.t.size]).toEqual(["left", 9]);
  });

  test("leaves no writer and no extra items if it is cut at any byte", async () => {
    const frames = await recorded();
    let all = 0;
    for (const [k, cut] of frames.entries()) {
      for (const length of each(24, [...Array(cut.length).keys()], k)) {
        const { outcome, replay } = await played([...frames.slice(0, k), cut.slice(0, length)]);
        expect(OUTCOMES).toContain(outcome);
        expect(replay.writers.length).toBe(0);
        expect(replay.tables.t.size).toBeLessThanOrEqual(9);
        all++;
      }
    }
    expect(all).toBeGreaterThan(whole ? 50 : 25);
  });

  test("ignores repeated frames, and leaves no writer if frames are missing or reordered", async () => {
    const frames = await recorded();
    const whole = bytesOf((await played(frames)).replay);
    for (let k = 0; k < frames.length; k++) {
      const frame = frames[k] as Uint8Array;
      const doubled = await played([...frames.slice(0, k), frame, ...frames.slice(k)]);
      // Repeated frames are ignored.
      expect([k, doubled.outcome, bytesOf(doubled.replay).equals(whole)]).toEqual([k, "left", true]);
      for (const other of [
        [...frames.slice(0, k), ...frames.slice(k + 1)],
        [...frames.slice(0, k), ...frames.slice(k + 1, k + 2), frame, ...frames.slice(k + 2)],
      ]) {
        const { outcome, replay } = await played(other);
        expect(OUTCOMES).toContain(outcome);
        expect(replay.writers.length).toBe(0);
      }
    }
  });

  test.each([...Array(scaled(40, 1)).keys()])("leaves no writer if bytes are altered (seed %i)", async (seed) => {
    const frames = await recorded();
    const random = new TestRandom(seed);
    for (let round = 0; round < 25; round++) {
      const altered = frames.map((frame) => frame.slice());
      for (let times = 1 + random.below(3); times > 0; times--) {
        const frame = altered[random.below(altered.length)] as Uint8Array;
        frame[random.below(frame.length)] = random.below(4) === 0 ? random.below(256) : (frame[random.below(frame.length)] as number) ^ (1 << random.below(8));
      }
      const { outcome, replay } = await played(altered);
      expect(OUTCOMES).toContain(outcome);
      expect(replay.writers.length).toBe(0);
    }
  });
});

describe("shared frames", () => {
  const frames = { frames: shared("pixels", u8(8, 8), 4), n: i32() };
  const frameAt = (n: number) => new Uint8Array(64).map((_, i) => n + i);
  const stack = (n: number) => Uint8Array.from([0, 1, 2, 3].flatMap((k) => [...frameAt(n + k)]));

  test("are sent once in blocks and columns, and again over a new connection", async () => {
    const options = { spec: frames, tables: { t: { maxSize: 500, sampler: fifo() } } };
    const [replay, home] = [new Replay(options), new Replay(options)];
    let bytes = 0;
    const connections: ReturnType<typeof memoryChannels>[] = [];
    const connect = () => {
      const [here, there] = memoryChannels();
      connections.push([here, there]);
      there.onSend = (frame) => {
        bytes += frame.length;
        return frame;
      };
      replay.acceptWriter(here, { items });
      return there;
    };
    const writer = await remoteWriter(connect, { spec: frames });
    const own = home.writer({ items });
    for (let n = 0; n < 200; n++) {
      const step = { frames: stack(n), n };
      own.append(step);
      await writer.append(step);
      if (n === 100) {
        await writer.flush();
        expect(bytes).toBeLessThan(101 * 256 * 0.5);
        connections[0]?.[1].close();
      }
    }
    const columns = { frames: Uint8Array.from([200, 201, 202].flatMap((n) => [...stack(n)])), n: [200, 201, 202] };
    own.appendColumns(columns);
    await writer.appendColumns(columns);
    await writer.flush();
    expect(connections.length).toBe(2);
    expect(replay.tables.t.sample(203, { replacement: false }).steps).toEqual(home.tables.t.sample(203, { replacement: false }).steps);
    await writer.close();
  });

  test("are rejected with 4002 if a reference points to a frame that was never sent", async () => {
    const replay = new Replay({ spec: frames, tables: { t: { maxSize: 500 } } });
    for (const reference of [0, 1, 2 ** 31, 2 ** 32 - 1]) {
      const [here, there] = memoryChannels();
      const peer = new RawPeer(there);
      const accepting = replay.acceptWriter(here, { items });
      await peer.heard("invite");
      peer.send("hello", {
        ...hello,
        leaves: [
          { path: "frames", text: "u8 of shape [4, 8, 8]" },
          { path: "n", text: "i32 of shape []" },
        ],
      });
      const accepted = await accepting;
      expect((await peer.heard("welcome")).fields.shared).toEqual([{ leaves: [0], frameBytes: 64, capacity: 8 }]);
      const rest = [Int32Array.of(5), new Uint8Array(1)] as const;
      if (reference > 0) peer.send("block", block(1, 1, { frames: [1] }), [Uint32Array.of(0, 0, 0, reference), ...rest, frameAt(3)]);
      else peer.send("block", block(1, 1, { frames: [0] }), [Uint32Array.of(0, 0, 0, 0), ...rest]);
      await peer.closed;
      expect([peer.code, (await accepted.closed).how]).toEqual([4002, "failed"]);
    }
    expect(replay.stats().steps).toBe(0);
  });
});
