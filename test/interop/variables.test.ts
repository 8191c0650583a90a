/**
 * Exchanges variables with Python through a real server. Both classes use the same tables, and the recorded cases of both classes run over the wire.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Dtype, f32, type Spec } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { Column } from "../../src/schema/column.ts";
import { DTYPES } from "../../src/schema/dtype.ts";
import { isHalf, narrowHalves, widenHalves } from "../../src/schema/half.ts";
import { type Client, ReverbVariableContainer } from "../../src/tf-agents/index.ts";
import { BATCHED, type BatchedCase, batchedTables, playBatched } from "../conformance/distributed/batched-cases.ts";
import { playVariables, type VariablesCase } from "../conformance/distributed/variables-cases.ts";
import { trajectorySpecOf } from "../conformance/observers/trajectory-form.ts";
import { DTYPE_OF } from "../conformance/step-spec.ts";
import { TestRandom } from "../support/random.ts";
import { DeclaredServers } from "./declared.ts";
import { python } from "./peer.ts";

type Told = { readonly leaf: readonly [string, readonly number[]] } | { readonly list: readonly Told[] } | { readonly dict: { readonly [name: string]: Told } };
type Leaf = readonly [dtype: string, shape: readonly number[], data: string | readonly string[]];

const TABLES = 50;
const ROUNDS = 1000;

/** Our dtypes by the names of TensorFlow's dtypes. */
const NAMES: { readonly [name: string]: Dtype } = { ...DTYPE_OF, float16: "f16", bfloat16: "bf16" };

function columnOf([dtype, shape, data]: Leaf): Column {
  if (typeof data !== "string") return new Column(data as never, [...shape]);
  const bytes = Buffer.from(data, "base64");
  const name = NAMES[dtype] as Dtype;
  const { array } = DTYPES[name];
  // Half floats are f32 numbers here.
  if (isHalf(name)) return new Column(widenHalves(name, new Uint16Array(new Uint8Array(bytes).buffer)), [...shape]);
  return new Column(new array(new Uint8Array(bytes).buffer) as Column["data"], [...shape]);
}

/** Returns the leaves in the order of Python: sorted by name, except in a named tuple (here a dict with the fields of Pair), which defines its own order. */
function leavesOf(told: Told, nest: unknown): Leaf[] {
  if ("leaf" in told) return [leafOf(told.leaf[0], nest as Column)];
  if ("list" in told) return told.list.flatMap((part, i) => leavesOf(part, (nest as unknown[])[i]));
  const names = Object.keys(told.dict);
  const ordered = names.join() === "weights,bias" ? names : names.sort();
  return ordered.flatMap((name) => leavesOf(told.dict[name] as Told, (nest as { [name: string]: unknown })[name]));
}

function leafOf(dtype: string, { data, shape }: Column): Leaf {
  if (Array.isArray(data)) return [dtype, shape, data];
  const name = NAMES[dtype] as Dtype;
  if (isHalf(name)) return [dtype, shape, Buffer.from(narrowHalves(name, data as Float32Array).buffer).toString("base64")];
  return [dtype, shape, Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64")];
}

function random(told: Told, numbers: TestRandom, isArray: boolean): unknown {
  if ("list" in told) return told.list.map((part) => random(part, numbers, isArray));
  if ("dict" in told) return Object.fromEntries(Object.entries(told.dict).map(([name, part]) => [name, random(part, numbers, isArray)]));
  const [dtype, shape] = told.leaf;
  const size = shape.reduce((product, n) => product * n, 1);
  const byte = () => numbers.below(256);
  if (dtype === "string") return columnOf([dtype, shape, Array.from({ length: size }, () => "aé日😀".slice(0, numbers.below(4)))]);
  const bytes = Uint8Array.from({ length: size * DTYPES[NAMES[dtype] as Dtype].bytes }, dtype === "bool" ? () => byte() % 2 : byte);
  const column = columnOf([dtype, shape, Buffer.from(bytes).toString("base64")]);
  // A scalar NaN becomes a JavaScript number on the way, which does not keep its bits.
  if (shape.length === 0 && Number.isNaN(column.data[0])) (column.data as Float32Array)[0] = Number.NaN;
  // Flat typed arrays are also accepted.
  return isArray && shape.length > 0 ? column.data : column;
}

/** Returns the same nest of columns with typed arrays as some of its leaves. */
function shaped(told: Told, nest: unknown): unknown {
  if ("leaf" in told) return nest instanceof Column ? nest : new Column(nest as Column["data"], [...told.leaf[1]]);
  if ("list" in told) return told.list.map((part, i) => shaped(part, (nest as unknown[])[i]));
  return Object.fromEntries(Object.entries(told.dict).map(([name, part]) => [name, shaped(part, (nest as { [name: string]: unknown })[name])]));
}

describe.skipIf(python === undefined)("variables exchanged with the Python class", { timeout: 600_000 }, () => {
  let child: ChildProcessWithoutNullStreams;
  let lines: AsyncIterator<string>;
  let client: ReverbClient;
  let container: ReverbVariableContainer;
  let signatures: { readonly [name: string]: Told };
  const names = Array.from({ length: TABLES }, (_, i) => `variables${i}`);

  async function read(): Promise<{ readonly [name: string]: unknown }> {
    const { value, done } = await lines.next();
    if (done) throw new Error("Python has ended");
    return JSON.parse(value);
  }

  async function ask(what: "push" | "update", table: string): Promise<readonly Leaf[]> {
    child.stdin.write(`${JSON.stringify({ do: what, table })}\n`);
    const { leaves, error } = await read();
    expect(error).toBeUndefined();
    return leaves as readonly Leaf[];
  }

  beforeAll(async () => {
    child = spawn(python as string, [join(import.meta.dirname, "variables.py"), "44", String(TABLES)], { stdio: ["pipe", "pipe", "ignore"] }) as never;
    lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { port, signatures: told } = await read();
    signatures = told as typeof signatures;
    // The client of an actor has the spec of the actor's steps, which differs from the spec of the variables.
    client = new ReverbClient(`127.0.0.1:${port}`, { spec: f32() }) as unknown as ReverbClient;
    container = new ReverbVariableContainer(client, { tableNames: names });
  });
  afterAll(async () => {
    client?.close();
    child?.kill("SIGKILL");
    if (child?.exitCode === null) await once(child, "exit");
  });

  it("pull waits for the first push", async () => {
    const table = names[0] as string;
    await expect(container.pull({ table, timeoutMs: 1 })).rejects.toMatchObject({ code: "TIMEOUT" });
    const waits = container.pull({ table });
    const pushed = await ask("push", table);
    expect(leavesOf(signatures[table] as Told, await waits)).toEqual(pushed);
  });

  it(`pull and update return ${ROUNDS} nests that Python pushes, bit by bit`, async () => {
    for (let n = 0; n < ROUNDS; n++) {
      const table = names[n % TABLES] as string;
      const told = signatures[table] as Told;
      const pushed = await ask("push", table);
      const before = await container.pull({ table });
      expect(leavesOf(told, before), table).toEqual(pushed);
      const variables = shaped(told, random(told, new TestRandom(n), false));
      await container.update(variables, { table });
      expect(leavesOf(told, variables), table).toEqual(pushed);
    }
  });

  it(`${ROUNDS} nests that are pushed here update the variables in Python, bit by bit`, async () => {
    for (let n = 0; n < ROUNDS; n++) {
      const table = names[n % TABLES] as string;
      const told = signatures[table] as Told;
      const values = random(told, new TestRandom(1000 + n), n % 2 === 1);
      await container.push(values, { table });
      expect(await ask("update", table), table).toEqual(leavesOf(told, shaped(told, values)));
    }
  });

  it("concurrent pushes arrive in their order", async () => {
    const table = names[0] as string;
    const told = signatures[table] as Told;
    const nests = Array.from({ length: 50 }, (_, n) => random(told, new TestRandom(5000 + n), false));
    await Promise.all(nests.map((nest) => container.push(nest, { table })));
    expect(await ask("update", table)).toEqual(leavesOf(told, shaped(told, nests.at(-1))));
  });
});

describe.skipIf(python === undefined)("the recorded cases over the wire", () => {
  const casesOf = <T>(file: string) => JSON.parse(readFileSync(join(import.meta.dirname, "../conformance/variants", file), "utf8")) as (T & { name: string })[];
  let servers: DeclaredServers;
  beforeAll(() => {
    servers = new DeclaredServers();
  });
  afterAll(() => servers?.end());

  it.each(casesOf<BatchedCase>("batched-observer.json").map((test) => [test.name, test] as const))("%s", async (_, test) => {
    const server = await servers.start(batchedTables(test).map((name) => ({ name, max_size: 1000, max_times_sampled: 1 })));
    const client = new ReverbClient<Spec>(server.address, { spec: trajectorySpecOf(test.spec) });
    try {
      expect(await playBatched(test, client as unknown as Client, Object.hasOwn(BATCHED, test.name) ? "arrays" : "columns")).toBeUndefined();
    } finally {
      client.close();
      await server.stop();
    }
  });

  it.each(casesOf<VariablesCase>("variables.json").map((test) => [test.name, test] as const))("%s", async (_, test) => {
    const { signature, max_size = 1 } = test;
    const tables = ["variables", "other"].map((name) => ({ name, max_size, sampler: "Uniform", ...(signature === null ? {} : { item_signature: signature }) }));
    const server = await servers.start(tables);
    const client = new ReverbClient(server.address);
    try {
      expect(await playVariables(test, client)).toBeUndefined();
    } finally {
      client.close();
      await server.stop();
    }
  });
});
