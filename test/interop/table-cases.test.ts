/** Runs the table cases over the wire: our client runs every op on a real server, and each answer is compared with the answer of the in-process client. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Op, type Result, readTableCase, type TableCase } from "../conformance/case.ts";
import { type Answer, difference } from "../conformance/compare.ts";
import { accepted, kindOf } from "../conformance/meaning.ts";
import { OPS } from "../conformance/ops.ts";
import { type TableWorld, World } from "../conformance/world.ts";
import { DeclaredServers, Refused } from "./declared.ts";
import { python } from "./peer.ts";
import { ServerWorld } from "./server-world.ts";
import { type Asked, WIRE_RULES, type WireRule } from "./wire-rules.ts";

const FILE = join(import.meta.dirname, "../conformance/tfagents/reverb-table.json");
const cases = (JSON.parse(readFileSync(FILE, "utf8")) as { readonly [key: string]: unknown }[]).map(readTableCase);

describe.skipIf(python === undefined)("the tables' cases over the wire", () => {
  let servers: DeclaredServers;
  /** The names of the cases whose differences a rule allows, by the name of the rule. */
  const used = new Map<string, string[]>();
  beforeAll(() => {
    servers = new DeclaredServers();
  });
  afterAll(() => servers?.end());

  it.each(cases.map((test) => [test.name, test] as const))("%s", async (_, test) => {
    expect(await differencesOf(test, servers, used)).toEqual([]);
  });

  it("each rule for the wire applies to at least one case", () => {
    expect([...used.keys()].sort()).toEqual(WIRE_RULES.map(({ name }) => name).sort());
  });
});

async function differencesOf(test: TableCase, servers: DeclaredServers, used: Map<string, string[]>): Promise<readonly string[]> {
  const here = await made(() => new World(test));
  const there = await made(() => ServerWorld.of(test, servers));
  const found: string[] = [];
  try {
    if (!("world" in here) || !("world" in there)) {
      const one = differs(test, -1, here, there);
      return one === undefined ? [] : [`constructor: ${one}`];
    }
    for (const [i, op] of test.ops.entries()) {
      const ours = await answer(here.world, op);
      there.world.waitsInVain = inVain(ours);
      const ask = () => answer(there.world, op);
      const theirs = await ask();
      const one = differs(test, i, ours, theirs);
      if (one === undefined) continue;
      const asked = { ops: test.ops, i, again: async () => differs(test, i, ours, await ask()) };
      const rule = await ruleOf(asked);
      if (rule === undefined) found.push(`op ${i} ${JSON.stringify(op)}: ${one}`);
      else used.set(rule.name, [...(used.get(rule.name) ?? []), test.name]);
    }
    return found;
  } finally {
    if ("world" in here) here.world.end();
    if ("world" in there) await there.world.end();
  }
}

async function made<W>(make: () => W | Promise<W>): Promise<{ readonly world: W } | { readonly error: unknown }> {
  try {
    return { world: await make() };
  } catch (error) {
    return { error };
  }
}

async function answer(world: TableWorld, op: Op): Promise<Answer> {
  try {
    return { result: await (OPS[op[0]] as (typeof OPS)[string])(world, op[1], op) };
  } catch (error) {
    return { error };
  }
}

function inVain(ours: Answer): boolean {
  return "error" in ours ? kindOf(ours.error) === "TIMEOUT" : ours.result.timed_out === true;
}

async function ruleOf(asked: Asked): Promise<WireRule | undefined> {
  for (const rule of WIRE_RULES) if (await rule.allows(asked)) return rule;
  return undefined;
}

function differs(test: TableCase, i: number, here: object, there: object): string | undefined {
  if (!("error" in here)) return difference(test, i, (here as { result: Result }).result, there as Answer);
  const { error } = there as { error?: unknown };
  const kind = kindOf(here.error);
  // Python's constructors raise errors of their own classes.
  if (error instanceof Refused && kind !== undefined && accepted(test, i, { type: error.type }).includes(kind)) return undefined;
  return difference(test, i, { error: { kind } }, there as Answer);
}
