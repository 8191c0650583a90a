/**
 * Exchanges f16 and bf16 items with Python through a real server, and compares them bit by bit. Also tests the checks that remain if a signature leaves sizes
 * or ranks open.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bf16, type Dtype, f16, f32, i32, type Spec } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import type { Column } from "../../src/schema/column.ts";
import { DTYPES } from "../../src/schema/dtype.ts";
import { isHalf, narrowHalves, widenHalves } from "../../src/schema/half.ts";
import { TestRandom } from "../support/random.ts";
import { python } from "./peer.ts";

type Told = readonly [name: string, dtype: string, shape: readonly number[]];
type Leaf = readonly [dtype: string, shape: readonly number[], data: string];

const TABLES = 60;
const ROUNDS = 1000;
const NAMES: { readonly [name: string]: Dtype } = { float16: "f16", bfloat16: "bf16", float32: "f32", int32: "i32" };
const LEAVES = { f16, bf16, f32, i32 } as unknown as { readonly [name: string]: (...shape: number[]) => Spec };

function leafOf(dtype: string, { data, shape }: Column): Leaf {
  const name = NAMES[dtype] as Dtype;
  const stored = isHalf(name) ? narrowHalves(name, data as Float32Array) : (data as Float32Array);
  return [dtype, [...shape], Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).toString("base64")];
}

/** Returns a step in the form that a client accepts: a leaf without a shape is a number. */
function toStep(told: readonly Told[], values: { readonly [name: string]: Float32Array }): { readonly [name: string]: unknown } {
  return Object.fromEntries(told.map(([name, , shape]) => [name, shape.length === 0 ? values[name]?.[0] : values[name]]));
}

/** Returns values with random bits. A value without a shape becomes a JavaScript number, which loses the bits of a NaN, so a NaN gets the bits of the canonical NaN. */
function randomValues(dtype: Dtype, shape: readonly number[], random: TestRandom): Float32Array {
  const size = shape.reduce((product, n) => product * n, 1);
  const { buffer } = Uint8Array.from({ length: size * DTYPES[dtype].bytes }, () => random.below(256));
  const values = (isHalf(dtype) ? widenHalves(dtype, new Uint16Array(buffer)) : new DTYPES[dtype].array(buffer)) as Float32Array;
  if (shape.length === 0 && Number.isNaN(values[0])) values[0] = Number.NaN;
  return values;
}

describe.skipIf(python === undefined)("half floats compared to the Python client", { timeout: 600_000 }, () => {
  let child: ChildProcessWithoutNullStreams;
  let lines: AsyncIterator<string>;
  let port: number;
  let tables: { readonly [table: string]: readonly Told[] };
  let names: readonly string[];
  const clients: ReverbClient[] = [];

  async function read(): Promise<{ readonly [name: string]: unknown }> {
    const { value, done } = await lines.next();
    if (done) throw new Error("Python has ended");
    return JSON.parse(value);
  }

  async function ask(what: "read" | "write", table: string): Promise<readonly Leaf[]> {
    child.stdin.write(`${JSON.stringify({ do: what, table })}\n`);
    const { leaves, error } = await read();
    expect(error).toBeUndefined();
    return leaves as readonly Leaf[];
  }

  /** Returns a client whose steps are the items of a table. */
  function clientOf(table: string, change: (told: Told) => Spec = ([, dtype, shape]) => LEAVES[NAMES[dtype] as string]?.(...shape) as Spec): ReverbClient {
    const spec = Object.fromEntries((tables[table] as readonly Told[]).map((told) => [told[0], change(told)]));
    const client = new ReverbClient(`127.0.0.1:${port}`, { spec }) as unknown as ReverbClient;
    clients.push(client);
    return client;
  }

  beforeAll(async () => {
    child = spawn(python as string, [join(import.meta.dirname, "halves.py"), "44", String(TABLES)], { stdio: ["pipe", "pipe", "ignore"] }) as never;
    lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const first = await read();
    port = first.port as number;
    tables = first.columns as typeof tables;
    names = Object.keys(tables);
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    child?.kill("SIGKILL");
    if (child?.exitCode === null) await once(child, "exit");
  });

  it(`${ROUNDS} items that Python writes are read bit by bit`, async () => {
    const readers = new Map(names.map((table) => [table, clientOf(table)]));
    for (let n = 0; n < ROUNDS; n++) {
      const table = names[n % TABLES] as string;
      const written = await ask("write", table);
      const items: unknown[] = [];
      for await (const { data } of (readers.get(table) as ReverbClient).sample(table, 1, { emitTimesteps: false, unpackAsTableSignature: true }))
        items.push(data);
      const [item] = items as { readonly [name: string]: Column }[];
      const leaves = (tables[table] as readonly Told[]).map(([name, dtype]) => leafOf(dtype, item?.[name] as Column));
      // Sampled items have a time dimension, even items of one step. It is removed before the comparison.
      expect(
        leaves.map(([dtype, [, ...shape], data]) => [dtype, shape, data]),
        table,
      ).toEqual(written);
    }
  });

  it(`Python reads ${ROUNDS} items that are written here bit by bit`, async () => {
    const writers = new Map(names.map((table) => [table, clientOf(table)]));
    for (let n = 0; n < ROUNDS; n++) {
      const random = new TestRandom(n);
      const table = names[n % TABLES] as string;
      const told = tables[table] as readonly Told[];
      const step = Object.fromEntries(told.map(([key, dtype, shape]) => [key, randomValues(NAMES[dtype] as Dtype, shape, random)]));
      const leaves = told.map(([key, dtype, shape]) => leafOf(dtype, { data: step[key], shape } as unknown as Column));
      await (writers.get(table) as ReverbClient).insert(toStep(told, step) as never, { [table]: 1 });
      expect(await ask("read", table), table).toEqual(leaves);
    }
  });

  it("a half's dtype, rank and sizes are checked as far as the signature specifies them", async () => {
    for (const table of names) {
      const [first, , shape] = (tables[table] as readonly Told[])[0] as Told;
      const insertAs = async (change: (told: Told) => Spec) => {
        const client = clientOf(table, (told) => (told[0] === first ? change(told) : (LEAVES[NAMES[told[1]] as string]?.(...told[2]) as Spec)));
        const zeros = (tables[table] as readonly Told[]).map((told) => {
          const leaf = (told[0] === first ? change(told) : LEAVES[NAMES[told[1]] as string]?.(...told[2])) as {
            readonly dtype: Dtype;
            readonly shape: readonly number[];
          };
          const data = new DTYPES[leaf.dtype].array(leaf.shape.reduce((product, size) => product * size, 1));
          return [told[0], leaf.shape.length === 0 ? data[0] : data] as const;
        });
        await client.insert(Object.fromEntries(zeros) as never, { [table]: 1 });
      };
      const refused = { code: "SPEC_MISMATCH", message: expect.stringContaining(`table ${table}`) };
      await expect(insertAs(([, dtype]) => (NAMES[dtype] === "f16" ? bf16(...shape) : f16(...shape)))).rejects.toMatchObject(refused);
      await expect(insertAs(() => f32(...shape))).rejects.toMatchObject(refused);
      const as = (sizes: readonly number[]) => insertAs(([, dtype]) => LEAVES[NAMES[dtype] as string]?.(...sizes) as Spec);
      if (table.startsWith("known")) {
        if (shape.length > 0) await expect(as([...shape.slice(0, -1), (shape.at(-1) as number) + 1])).rejects.toMatchObject(refused);
        await expect(as([...shape, 2, 2])).rejects.toMatchObject(refused);
      } else if (table.startsWith("open")) {
        await expect(as([...shape, 2, 2])).rejects.toMatchObject(refused);
        if (shape.length > 0) await as([...shape.slice(0, -1), (shape.at(-1) as number) + 1]);
      } else await as([...shape, 2]);
    }
  });
});
