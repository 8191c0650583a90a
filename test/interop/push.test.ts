/** Runs `reprise push --server`, and reads the tables with the Python client. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTrajectoryDataSpec, openRlds, pushRldsToReverb } from "../../src/datasets/rlds/index.ts";
import { f32, fifo, i32, queueLimiter, type Spec } from "../../src/index.ts";
import { LocalClient, ReverbAddTrajectoryObserver } from "../../src/tf-agents/index.ts";
import { signatureOf } from "../../src/tf-agents/signature.ts";
import { DATA, document, failure, reprise, started } from "../unit/cli/support.ts";
import { begun, type Kind, kinds, taken } from "./clients.ts";
import { runPython } from "./peer.ts";

const CARTPOLE = join(DATA, "tfds", "cartpole");
const kind = kinds.find(({ name }) => name === "ReverbClient") as Kind;
const reader = kind.missing ? undefined : await openRlds(CARTPOLE);
const spec: Spec = reader === undefined ? {} : await createTrajectoryDataSpec(reader);
const ONCE = { maxSize: 10_000, sampler: fifo(), maxTimesSampled: 1 };
const tables = [
  { name: "signed", ...ONCE, signature: signatureOf(spec) },
  { name: "free", ...ONCE },
  { name: "other", ...ONCE, signature: signatureOf({ obs: f32(3), act: i32() }) },
  { name: "queue", ...ONCE, rateLimiter: queueLimiter(10) },
];
/** The positions of TF-Agents' columns among ours, which are sorted by name. */
const ORDER = [5, 3, 0, 2, 4, 1];

describe.skipIf(kind.missing)("reprise push --server", () => {
  const on = begun(kind, { spec, tables });
  const push = (...args: string[]) => ["push", CARTPOLE, "--server", on.address as string, ...args];

  /** Returns the items that the library creates from the same data in this process. */
  async function here(sequenceLength: number, strideLength: number): Promise<unknown[]> {
    const client = LocalClient.of({ spec, tables: [{ name: "t", ...ONCE }] });
    await pushRldsToReverb(await openRlds(CARTPOLE), new ReverbAddTrajectoryObserver(client, { tableName: "t", sequenceLength, strideLength }));
    return await taken(client, "t");
  }

  it("reports its inserts, and Python reads the same items in the column order of TF-Agents", async () => {
    const expected = await here(4, 3);
    const said = await document(...push("--table", "signed", "--table", "free", "--sequence-length", "4", "--stride", "3", "--priority", "2.5"));
    const filled = (name: string) => ({ name, inserted: expected.length, size: expected.length });
    expect(said).toMatchObject({ server: on.address, tables: [filled("signed"), filled("free")], report: { complete: true } });
    const items = JSON.parse(runPython(on.address as string, "signed", 20, "read")) as { readonly priority: number; readonly data: unknown[] }[];
    expect(items.map(({ priority }) => priority)).toEqual(items.map(() => 2.5));
    expect(items.map(({ data }) => data)).toEqual(
      expected
        .slice(0, 20)
        .map((columns) => ORDER.map((i) => (columns as unknown[])[i]))
        .map(numbers),
    );
    expect(await taken(on.client, "free")).toEqual(expected);
  });

  it("pushes whole episodes, and prints a table of new items", async () => {
    const { status, stdout, stderr } = await reprise(...push("--table", "signed", "--episodes"));
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^127\.0\.0\.1:\d+: [\d,]+ trajectories of [\d,]+ episodes pushed\n {2}table +new items +items\n {2}signed +([\d,]+) +\1\n/);
  });

  it("fails with a one-line remedy: unknown table, wrong signature, long episodes, no item, no server", async () => {
    expect((await failure(1, ...push("--table", "nowhere"))).error).toMatchObject({
      code: "NOT_FOUND",
      message: `the Reverb server at ${on.address} has no table nowhere. Tables: free, other, queue, signed`,
    });
    expect((await failure(1, ...push("--table", "other"))).error.message).toContain("the signature of the observer's tables must match");
    expect((await failure(2, ...push("--table", "free", "--episodes", "--max-length", "3"))).error.message).toContain("more than --max-length = 3 steps");
    expect((await failure(1, ...push("--table", "free", "--sequence-length", "5000"))).error).toMatchObject({ code: "EMPTY" });
    const nobody = await failure(1, "push", CARTPOLE, "--server", "127.0.0.1:1", "--table", "free");
    expect(nobody.error).toMatchObject({ code: "TIMEOUT", message: expect.stringMatching(/the Reverb server at 127\.0\.0\.1:1 .*server runs/) });
  });

  it("waits while the queue is full, until Ctrl-C", async () => {
    const { child, ended } = started(...push("--table", "queue"));
    await expect.poll(async () => (await on.client.serverInfo()).queue?.currentSize, { timeout: 30_000 }).toBe(10);
    child.kill("SIGINT");
    const { status, stderr } = await ended;
    expect(stderr).toMatch(
      /^reprise: INTERRUPTED: [\d,]+ trajector(y|ies) of whole episodes were sent to 127\.0\.0\.1:\d+; some items of the last ones may be missing there\n$/,
    );
    expect(status).toBe(130);
  });
});

/** Converts numbers to the form of Python's JSON. */
function numbers(value: unknown): unknown {
  return Array.isArray(value) ? value.map(numbers) : Number(value);
}
