/** Where our answers to the RLDS cases are not the recorded ones: POLICY.md, departures.md. By rule, so that cases nobody has seen are held to it too. */
import type { Spec } from "../../src/index.ts";
import { isObject, type Result } from "./case.ts";
import type { RldsCase } from "./rlds-cases.ts";

export interface RldsDeparture {
  readonly rule: string;
  /** What an op must give instead of the recorded result. */
  result(kind: string, recorded: Result): Result;
}

type Flags = { readonly is_first?: unknown; readonly is_last?: unknown };

export function rldsDeparture(test: RldsCase, stepSpec: Spec | undefined): RldsDeparture | undefined {
  if (test.raw !== undefined) return undefined;
  const steps = test.episodes.flatMap((episode, number) => episode.map((step) => ({ number, step: step as Flags })));
  if (steps.length === 0 && stepSpec !== undefined && test.ops.some(([kind]) => kind !== "spec"))
    return {
      rule: "no steps at all raises, as the document says",
      result: (kind, recorded) => (kind === "spec" ? recorded : refused(kind, "EMPTY", recorded, 0)),
    };
  const wrong = firstWrong(steps);
  if (wrong !== undefined) {
    const { at, rule } = wrong;
    return { rule, result: (kind, recorded) => (kind === "spec" || known(recorded) <= at ? recorded : refused(kind, "INVALID_DATA", recorded, at)) };
  }
  const observation = (stepSpec as { readonly observation?: Spec } | undefined)?.observation;
  if (isObject(observation) && typeof observation.dtype !== "string")
    return { rule: "nested observations are split per step like flat ones", result: (kind, recorded) => (kind === "spec" ? recorded : ofEachStep(recorded)) };
  return undefined;
}

/** How many trajectories came before the fault. */
function firstWrong(steps: readonly { readonly number: number; readonly step: Flags }[]): { readonly at: number; readonly rule: string } | undefined {
  if (steps.length > 0 && steps[0]?.step.is_first !== true) return { at: 0, rule: "data that begins in mid-episode raises" };
  const rule = "an episode that does not end in a last step raises, also where the next one begins with a first step";
  const at = steps.findIndex(({ number, step }, i) => {
    const next = steps[i + 1];
    return step.is_last !== true && (next === undefined || next.step.is_first === true || next.number !== number);
  });
  return at < 0 ? undefined : { at, rule };
}

/** After how many trajectories the recorded call raised. */
function known({ error, trajectories, observer_calls }: Result): number {
  if (!isObject(error)) return Number.POSITIVE_INFINITY;
  return Array.isArray(trajectories) ? trajectories.length : (observer_calls as number);
}

/** The recorded answer up to a fault. Of a push only those items are held that it has too. */
function refused(kind: string, code: string, recorded: Result, at: number): Result {
  const error = { kind: code };
  if (kind === "convert") return { trajectories: (recorded.trajectories as unknown[]).slice(0, at), error };
  return { error, observer_calls: at, items: recorded.items, some: true };
}

/** Recorded: an observation of both steps of the pair. Ours: of the first of them. */
function ofEachStep(recorded: Result): Result {
  const one = (observation: unknown): unknown =>
    Array.isArray(observation) ? observation[0] : Object.fromEntries(Object.entries(observation as object).map(([name, node]) => [name, one(node)]));
  const inTime = (observation: unknown): unknown =>
    Array.isArray(observation)
      ? observation.map((pair) => pair[0])
      : Object.fromEntries(Object.entries(observation as object).map(([name, node]) => [name, inTime(node)]));
  const trajectories = (recorded.trajectories as { observation: unknown }[] | undefined)?.map((each) => ({ ...each, observation: one(each.observation) }));
  const items = (recorded.items as { columns: { observation: unknown } }[] | undefined)?.map((item) => ({
    ...item,
    columns: { ...item.columns, observation: inTime(item.columns.observation) },
  }));
  return { ...recorded, ...(trajectories && { trajectories }), ...(items && { items }) };
}

/** The recorded cases where a rule applies. */
export const RLDS = ["nested_observation", "bad_first_only", "bad_first_first", "bad_begin_of_data", "empty"] as const;
