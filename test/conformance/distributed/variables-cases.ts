/** Runs a case of ReverbVariableContainer (variants/distributed.py), on any client. */
import { type Column, f64, type Spec } from "../../../src/index.ts";
import { isColumn } from "../../../src/schema/column.ts";
import { LocalClient, ReverbVariableContainer, type Signature, type VariableClient } from "../../../src/tf-agents/index.ts";
import { Malformed, type Result, whyNotRun } from "../case.ts";
import { valueDifference } from "../compare.ts";
import { kindOf } from "../meaning.ts";
import { nestedColumn } from "../nested.ts";
import type { Outcome } from "../outcome.ts";
import { build, ourSpec } from "../step-spec.ts";
import { columnsOf } from "./columns.ts";

export interface VariablesCase {
  readonly name: string;
  /** Null for tables without a signature. */
  readonly signature: unknown;
  readonly max_size?: number;
  readonly tables?: readonly string[];
  readonly ops: readonly (readonly [kind: string, args: { readonly [name: string]: unknown }])[];
  readonly expect: { readonly error?: Result; readonly results?: readonly Result[] };
}

/** The cases in which our container differs from the recorded one, with the errors that ops must have. See POLICY.md and departures.md. */
export const VARIABLES: { readonly [name: string]: { readonly rule: string; readonly errors: { readonly [op: number]: string }; readonly here?: true } } = {
  variables_push_names_same_form: { rule: "names of variables count, also for push", errors: { 0: "SPEC_MISMATCH" } },
  variables_no_signature: { rule: "a table of this process without a signature has the Replay's spec", errors: {}, here: true },
};

const KINDS: { readonly [type: string]: readonly string[] } = {
  KeyError: ["NOT_FOUND"],
  TypeError: ["TypeError"],
  InvalidArgumentError: ["SPEC_MISMATCH"],
  ValueError: ["SPEC_MISMATCH"],
};

export async function runVariablesCase(raw: { readonly [key: string]: unknown }): Promise<Outcome> {
  const test = raw as unknown as VariablesCase;
  const departure = Object.hasOwn(VARIABLES, test.name) ? VARIABLES[test.name] : undefined;
  const told = { name: test.name, departs: departure !== undefined, ...(departure && { rule: departure.rule }) };
  try {
    const { signature, max_size: maxSize = 1 } = test;
    const spec = signature === null ? f64() : ourSpec(signature);
    const own = signature === null ? {} : { signature: spec as Signature };
    const tables = ["variables", "other"].map((name) => ({ name, maxSize, ...own }));
    const client = LocalClient.of<Spec>({ spec, tables });
    const why = departure?.here ? checkHere(test, client) : await playVariables(test, client);
    client.replay.dispose();
    return why === undefined ? { ...told, state: "passed" } : { ...told, state: "failed", why };
  } catch (error) {
    return { ...told, state: "failed", why: whyNotRun(error) };
  }
}

function checkHere({ expect }: VariablesCase, client: VariableClient): string | undefined {
  if (expect.error?.type !== "TypeError") return "expected that theirs refuses it";
  new ReverbVariableContainer(client);
  return undefined;
}

/** Runs a case and returns its first difference. @param client a client whose server has the tables `variables` and `other` */
export async function playVariables(test: VariablesCase, client: VariableClient): Promise<string | undefined> {
  const { expect, ops } = test;
  const container = construct(test, client);
  if (expect.error !== undefined) {
    // If the client is remote, our container rejects invalid arguments only at its first call, which requests the server's tables.
    const error = "error" in container ? container.error : (await answer(test, container.made, ops[0] as VariablesCase["ops"][number])).error;
    const kinds = expect.error.type === "ValueError" ? ["RangeError"] : KINDS[String(expect.error.type)];
    return kinds?.includes(String(kindOf(error))) ? undefined : `constructor: expected ${kinds}, got ${error ?? "none"}`;
  }
  if ("error" in container) return `constructor: ${(container.error as Error).stack}`;
  for (const [i, op] of ops.entries()) {
    const ours = VARIABLES[test.name]?.errors[i];
    const recorded = expect.results?.[i] as { readonly error?: { readonly type: string }; readonly value?: unknown };
    const kinds = ours === undefined ? recorded.error && (KINDS[recorded.error.type] ?? []) : [ours];
    const got = await answer(test, container.made, op);
    const kind = got.error === undefined ? undefined : (kindOf(got.error) ?? String((got.error as Error).stack));
    if (kinds === undefined ? kind !== undefined : !kinds.includes(String(kind)))
      return `op ${i} ${op[0]}: expected ${kinds ?? "no error"}, got ${got.error ?? "none"}`;
    const found = kinds === undefined ? valueDifference(`op ${i} ${op[0]}: .value`, recorded.value, got.value) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function construct({ tables }: VariablesCase, client: VariableClient): { readonly made: ReverbVariableContainer } | { readonly error: unknown } {
  try {
    return { made: new ReverbVariableContainer(client, tables && { tableNames: tables }) };
  } catch (error) {
    return { error };
  }
}

async function answer(
  { signature }: VariablesCase,
  container: ReverbVariableContainer,
  [kind, { spec = signature, values, variables, table }]: VariablesCase["ops"][number],
): Promise<{ readonly value?: unknown; readonly error?: unknown }> {
  const options = table === undefined ? {} : { table: table as string };
  try {
    if (kind === "push") {
      await container.push(columnsOf(spec, build(spec, values)), options);
      return {};
    }
    if (kind === "pull") return { value: plain(await container.pull(options)) };
    if (kind !== "update") throw new Malformed(`unknown op ${kind}`);
    const own = columnsOf(spec, build(spec, variables));
    await container.update(own, options);
    return { value: plain(own) };
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return { error };
  }
}

/** Converts columns to nested numbers. */
function plain(nest: unknown): unknown {
  if (isColumn(nest)) return nestedColumn(nest as Column);
  if (Array.isArray(nest)) return nest.map(plain);
  return Object.fromEntries(Object.entries(nest as object).map(([name, part]) => [name, plain(part)]));
}
