/** Compares the items that actors write to a real server, through a gateway, with the items that a Replay creates from the same calls. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { f32, fifo, type ItemRule, i32, Replay, text } from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { CHANNELS, type ChannelName, endsOf, until } from "../unit/remote/support.ts";
import { type Peer, python, startServer } from "./peer.ts";

const spec = { name: text({ maxBytes: 8 }), obs: { n: i32(), v: f32(2) } };
const OPEN = { samplesPerInsert: 1, minSize: 1, minDiff: -1e300, maxDiff: 1e300 };
const TABLE = { sampler: { kind: "fifo" }, remover: { kind: "fifo" }, maxSize: 1_000_000, maxTimesSampled: 1, rateLimiter: OPEN };
const TABLES = [
  ...["a", "b"].map((name) => ({ ...TABLE, name })),
  // This table admits one item, and one more for each sample.
  { ...TABLE, name: "shut", rateLimiter: { ...OPEN, maxDiff: 1 } },
];

type Seen = readonly [priority: number, names: readonly string[], n: readonly number[], v: readonly number[]];

describe.skipIf(python === undefined)("a gateway to a real server", () => {
  let peer: Peer;
  let client: ReverbClient<typeof spec>;
  beforeAll(async () => {
    peer = await startServer(0, TABLES);
    client = new ReverbClient(peer.address, { spec });
  });
  afterAll(async () => {
    client?.close();
    await peer?.stop();
  });

  /** Samples all items of a table. */
  async function taken(table: string): Promise<Seen[]> {
    const size = (await client.serverInfo())[table]?.currentSize as number;
    if (size === 0) return [];
    const sampler = client.sampler(table, { maxSamples: size });
    const seen: Seen[] = [];
    for (let k = 0; k < size; k++) {
      const item = await sampler.next();
      const [names, n, v] = (item as NonNullable<typeof item>).columns.map(({ column }) => Array.from(column.data as ArrayLike<unknown>)) as never as [
        string[],
        number[],
        number[],
      ];
      seen.push([item?.info.priority as number, names, n, v]);
    }
    sampler.close();
    return seen;
  }

  /** Samples as many items from a table of a Replay as the table has, in the form of `taken`. */
  function inReplay(replay: Replay<typeof spec, string>, table: string): Seen[] {
    const { size } = replay.table(table);
    return Array.from({ length: size }, () => {
      const { info, steps } = replay.table(table).sample(1) as unknown as {
        info: { priorities: Float64Array };
        steps: { name: { data: string[] }; obs: { n: { data: Int32Array }; v: { data: Float32Array } } };
      };
      return [info.priorities[0] as number, [...steps.name.data], [...steps.obs.n.data], [...steps.obs.v.data]];
    });
  }

  /** Connects an actor to the gateway over a channel. */
  async function actor(channel: ChannelName, items: readonly ItemRule[], lanes: number, options = {}) {
    const [here, there] = await endsOf(channel);
    const [accepted, writer] = await Promise.all([
      client.acceptWriter(here as never, { items: items as never, ...options }),
      remoteWriter(there as never, { spec, lanes }) as unknown as Promise<ReturnType<Replay<typeof spec>["writer"]>>,
    ]);
    return { accepted, writer, there: there as { close(): void } };
  }

  const step = (n: number) => ({ name: `s${n}`, obs: { n, v: [n / 2, -n] } });
  const columns = (from: number, rows: number) => {
    const n = Array.from({ length: rows }, (_, i) => from + i);
    return { name: n.map((k) => `c${k}`), obs: { n: Int32Array.from(n), v: Float32Array.from(n.flatMap((k) => [k, 1])) } };
  };

  it.each(CHANNELS)("creates the same items as a Replay for random calls: %s", async (channel) => {
    for (let seed = 1; seed <= scaled(8); seed++) {
      const random = new TestRandom(seed);
      const lanes = random.pick([1, 1, 3]);
      const rules = Array.from({ length: 1 + random.below(2) }, (_, k) => ({
        table: "ab"[k] as string,
        length: 1 + random.below(4),
        stride: 1 + random.below(3),
        ...(random.below(2) === 0 && { priority: 1 + random.below(5) }),
      }));
      const table = { maxSize: 100_000, sampler: fifo(), maxTimesSampled: 1 };
      const replay: Replay<typeof spec, string> = new Replay({ spec, tables: { a: table, b: table, shut: table }, logger: null });
      const twin = replay.writer({ items: rules, lanes } as never) as unknown as ReturnType<typeof replay.writer>;
      const { accepted, writer } = await actor(channel, rules, lanes);
      let n = 0;
      for (let call = 0; call < 120; call++) {
        const dice = random.next();
        const lane = random.below(lanes);
        const both = async (make: (one: typeof twin) => unknown) => {
          try {
            make(twin);
          } catch (error) {
            // No episode is open, or an item would begin with a final observation.
            expect((error as { code?: string }).code ?? (error as Error).message).toMatch(/OUT_OF_TURN|final step/);
            return;
          }
          await make(writer as typeof twin);
        };
        if (dice < 0.55) {
          const from = n;
          n += lanes;
          const value = lanes === 1 ? step(from) : { name: ["x", "y", "z"], obs: { n: [from, from + 1, from + 2], v: [1, 2, 3, 4, 5, from] } };
          await both((one) => one.append(value as never));
        } else if (dice < 0.7) {
          const rows = lanes * (1 + random.below(20));
          const ended = Array.from({ length: rows }, () => Number(random.below(8) === 0));
          const finals = ended.reduce((sum, flag) => sum + flag, 0);
          const block = columns(n, rows);
          const priorities = random.below(3) === 0 ? { [rules[0]?.table as string]: Float64Array.from(ended, (_, i) => 1 + (i % 7)) } : {};
          const how =
            random.below(2) === 0
              ? { ends: ended, priorities }
              : { truncated: ended, priorities, ...(finals > 0 && random.below(2) === 0 && { final: columns(-finals, finals) }) };
          n += rows;
          await both((one) => one.appendColumns(block as never, how as never));
        } else if (dice < 0.8) {
          const final = random.below(3) === 0 ? { obs: { n: -call, v: [0, 1] } } : undefined;
          const terminated = random.below(2) === 0;
          await both((one) =>
            one.endEpisode({
              lane,
              ...(final && { final }),
              ...((final !== undefined || call % 5 === 0) && { terminated: terminated || final === undefined }),
            } as never),
          );
        } else if (writer.length > 0 && lanes === 1) {
          const length = Math.min(writer.length, 1 + random.below(3));
          const priority = 1 + random.below(3);
          await both((one) => one.createItem("b", { length, priority }));
        }
      }
      await writer.flush();
      expect(accepted.steps).toBeGreaterThanOrEqual(n);
      for (const name of ["a", "b"]) {
        // Each lane has a separate stream, so their items interleave in order of arrival.
        const [got, wanted] = [await taken(name), inReplay(replay, name)].map((seen) => (lanes === 1 ? seen : seen.map((one) => JSON.stringify(one)).sort()));
        expect([seed, got?.length]).toEqual([seed, wanted?.length]);
        expect(got).toEqual(wanted);
      }
      await (writer.close() as unknown as Promise<void>);
      expect((await accepted.closed).how).toBe("left");
    }
  });

  it("confirms a block after the server has confirmed its items", async () => {
    const { accepted, writer } = await actor("port", [{ table: "shut", length: 1 }], 1, { maxInFlight: 4 });
    let room: Promise<void> | undefined;
    for (let n = 0; n < 4; n++) room = writer.append(step(n)) as unknown as Promise<void> | undefined;
    let hasRoom = false;
    void room?.then(() => (hasRoom = true));
    await until(() => accepted.steps === 4);
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
    expect([room === undefined, hasRoom]).toEqual([false, false]);
    const seen: number[] = [];
    const sampler = client.sampler("shut", { maxSamples: 4 });
    for (let k = 0; k < 4; k++) seen.push((await sampler.next())?.columns[1]?.column.data[0] as number);
    sampler.close();
    expect(seen).toEqual([0, 1, 2, 3]);
    await writer.flush();
    expect(hasRoom).toBe(true);
    await (writer.close() as unknown as Promise<void>);
    expect((await accepted.closed).how).toBe("left");
  });

  it("receives unconfirmed steps of a broken socket again, and stores them only once", async () => {
    const cuts: { close(): void }[] = [];
    let at = 0;
    const accepting: Promise<unknown>[] = [];
    const dial = async () => {
      const [here, there] = await endsOf("channel");
      accepting.push(client.acceptWriter(here as never, { items: [{ table: "a", length: 2 }] }).catch(() => {}));
      cuts.push(here as { close(): void });
      return there;
    };
    const writer = (await remoteWriter(dial as never, { spec })) as unknown as ReturnType<Replay<typeof spec>["writer"]>;
    for (let cut = 0; cut < 5; cut++) {
      for (let k = 0; k < 300; k++) {
        await writer.append(step(at++));
        if (k === 150) (cuts.at(-1) as { close(code: number): void }).close(1006);
      }
    }
    await writer.flush();
    const seen = await taken("a");
    expect(seen.map(([, , n]) => n)).toEqual(Array.from({ length: at - 1 }, (_, k) => [k, k + 1]));
    await (writer.close() as unknown as Promise<void>);
    expect(cuts.length).toBeGreaterThan(2);
    await Promise.all(accepting);
  });

  it("rejects calls that a server does not support, and lists the tables", async () => {
    const accept = (items: readonly object[], options: object = {}) =>
      client.acceptWriter(new MessageChannel().port1 as never, { items: items as never, ...options });
    const refused = (code: string, message: RegExp) => expect.objectContaining({ code, message: expect.stringMatching(message) });
    await expect(accept([{ table: "a", nStep: 3 }])).rejects.toThrow(refused("UNSUPPORTED", /^items\[0\]\.nStep is not supported with a Reverb server/));
    await expect(accept([{ table: "a", sequence: { length: 8 } }])).rejects.toThrow(refused("UNSUPPORTED", /^items\[0\]\.sequence/));
    await expect(accept([{ table: "c", length: 1 }])).rejects.toThrow(refused("NOT_FOUND", /one of .*, the tables of the Reverb server/));
    await expect(accept([{ table: "a", length: 1 }], { across: true })).rejects.toThrow(/acceptWriter has no option "across"/);
    const { accepted, writer } = await actor("port", [{ table: "a", length: 1 }], 1);
    writer.append(step(1));
    writer.discardEpisode();
    await expect(writer.flush()).rejects.toThrow(refused("UNSUPPORTED", /discardEpisode is not supported with a Reverb server/));
    const { how, error } = await accepted.closed;
    expect([how, (error as { code: string }).code]).toEqual(["failed", "UNSUPPORTED"]);
    await taken("a");
  });

  it("rejects steps that do not match the table's signature", async () => {
    const other = await startServer(0, [{ ...TABLE, name: "a", signature: { dict: { x: { leaf: ["float32", [null, 3]] } } } }]);
    const another = new ReverbClient(other.address, { spec: { x: f32(2) } });
    const { port1, port2 } = new MessageChannel();
    const [, writer] = await Promise.all([another.acceptWriter(port1, { items: [{ table: "a", length: 1 }] }), remoteWriter(port2, { spec: { x: f32(2) } })]);
    writer.append({ x: [1, 2] });
    await expect(writer.flush()).rejects.toThrow(expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringMatching(/x/) }));
    another.close();
    await other.stop();
  });
});
