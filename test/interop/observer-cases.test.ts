/**
 * Runs the cases of both kinds of observer over the wire: one observer writes to a real server, another one to tables in this process. All visible state is
 * compared after each op.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fifo, type Spec } from "../../src/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { leavesOf } from "../../src/schema/spec.ts";
import { LocalClient } from "../../src/tf-agents/index.ts";
import { valueDifference } from "../conformance/compare.ts";
import { kindOf } from "../conformance/meaning.ts";
import { act, type Observer, type ObserverCase, observerOf } from "../conformance/observers/cases.ts";
import { trajectorySpecOf } from "../conformance/observers/trajectory-form.ts";
import { DeclaredServers } from "./declared.ts";
import { python } from "./peer.ts";

const SIZE = 1000;
const folder = join(import.meta.dirname, "../conformance/tfagents");
const casesOf = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8")) as ObserverCase[];

/** The visible state after an op: the kind of its error, the sizes of the tables, and the number of cached steps. */
interface Seen {
  readonly error?: string;
  readonly sizes: readonly number[];
  readonly cached: number;
}

/** Both clients have these members. */
type Either = Pick<ReverbClient, "sampler" | "serverInfo">;

describe.skipIf(python === undefined)("the observers' cases over the wire", () => {
  let servers: DeclaredServers;
  beforeAll(() => {
    servers = new DeclaredServers();
  });
  afterAll(() => servers?.end());

  const cases = ["trajectory-observer.json", "episode-observer.json"].flatMap((file) => casesOf(file));
  /** The number of cases in which the real server reports an unknown table later than the tables in this process. */
  let late = 0;

  it.each(cases.map((test) => [test.name, test] as const))("%s", async (_, test) => {
    const names = test.tables ?? ["t"];
    const spec = trajectorySpecOf(test.spec);
    const server = await servers.start(names.map((name) => ({ name, max_size: SIZE, max_times_sampled: 1 })));
    const there = new ReverbClient<Spec>(server.address, { spec });
    const tables = names.map((name) => ({ name, maxSize: SIZE, sampler: fifo(), maxTimesSampled: 1 }));
    const here = LocalClient.of<Spec>({ spec, tables, maxBytes: 2 ** 28, logger: null });
    try {
      const ours = made(test, here);
      const theirs = made(test, there);
      // A server describes its tables with the first item, so an unknown table is an error only then.
      if ("error" in ours && ours.error === "NOT_FOUND" && "observer" in theirs) {
        late++;
        const errors = [];
        for (const i of test.ops.keys()) errors.push((await seen(test, theirs.observer, there, names, i)).error);
        expect(errors).toContain("NOT_FOUND");
        return;
      }
      if ("error" in ours || "error" in theirs) {
        expect(theirs).toEqual(ours);
        return;
      }
      for (const i of test.ops.keys()) {
        const want = await seen(test, ours.observer, here as unknown as Either, names, i);
        const got = await seen(test, theirs.observer, there, names, i);
        expect(valueDifference(`op ${i} ${test.ops[i]?.[0]}`, want, got)).toBeUndefined();
      }
      const leaves = leavesOf(spec).length;
      expect(await itemsOf(there, names, leaves)).toEqual(await itemsOf(here as unknown as Either, names, leaves));
    } finally {
      here.replay.dispose();
      there.close();
      await server.stop();
    }
  });

  it("in some cases the server reports an unknown table late", () => expect(late).toBeGreaterThan(0));
});

function made(test: ObserverCase, client: unknown): { readonly observer: Observer } | { readonly error: string | undefined } {
  try {
    return { observer: observerOf(test, client) };
  } catch (error) {
    return { error: kindOf(error) ?? String(error) };
  }
}

async function seen(test: ObserverCase, observer: Observer, client: Either, names: readonly string[], i: number): Promise<Seen> {
  const op = test.ops[i] as ObserverCase["ops"][number];
  let error: string | undefined;
  try {
    await act(test, observer, op);
    if (op[0] !== "close") await observer.flush();
  } catch (thrown) {
    error = kindOf(thrown) ?? String((thrown as Error).stack);
  }
  const info = await client.serverInfo();
  const sizes = names.map((name) => info[name]?.currentSize as number);
  return { ...(error !== undefined && { error }), sizes, cached: observer.cachedSteps };
}

/** Returns all items of all tables in order: priority, and the dtype, shape and elements of each column. */
async function itemsOf(client: Either, names: readonly string[], leaves: number): Promise<unknown[]> {
  const items: unknown[] = [];
  const info = await client.serverInfo();
  for (const table of names) {
    const count = info[table]?.currentSize as number;
    if (count === 0) continue;
    const sampler = client.sampler(table, { maxSamples: count });
    for (let item = await sampler.next(); item !== undefined; item = await sampler.next()) {
      expect(item.columns.length).toBe(leaves);
      const columns = item.columns.map(({ dtype, isSqueezed, column }) => [dtype, isSqueezed, column.shape, [...(column.data as Iterable<unknown>)]]);
      items.push({ table, priority: item.info.priority, columns });
    }
    sampler.close();
  }
  return items;
}
