/** Defines the rules for answers that differ from the recorded ones (POLICY.md, "Trajectories"), and computes our answers from the values of the case. */
import { isObject, type Op, type Result } from "../case.ts";

type Row = readonly number[];
type Fields = { readonly [field: string]: unknown };

export interface Ruled {
  readonly rule: string;
  readonly result: Result;
}

const LAST = 2;

/** Returns our answer to an op if a rule changes the recorded one, else undefined. */
export function ruled(op: Op, spec: Fields, recorded: Result, form: unknown): Ruled | undefined {
  const [kind, args] = op;
  switch (kind) {
    case "to_n_step_transition":
      return cutOff(args.trajectory, args.gamma as number, spec, recorded);
    case "as_n_step_transition":
      return cutOff(args.value, args.gamma as number, spec, recorded);
    case "from_episode":
      return emptyEpisode(args, recorded);
    case "transition":
    case "truncation":
      return form === "numpy" ? spread(args, recorded) : undefined;
    case "as_half_transition":
      return half(args, spec, recorded);
    default:
      return undefined;
  }
}

/** Applies a rule: an n-step transition ends at the first boundary between episodes, so rewards after the boundary are not added. */
function cutOff(trajectory: unknown, gamma: number, spec: Fields, recorded: Result): Ruled | undefined {
  if (!isObject(trajectory) || !isObject(recorded.value) || !Array.isArray(trajectory.discount)) return undefined;
  const { step_type, next_step_type, reward, discount, observation } = trajectory;
  const value = structuredClone(recorded.value) as { next_time_step: { [field: string]: unknown[] | Fields } };
  const next = value.next_time_step;
  let cuts = 0;
  for (const [row, discounts] of (discount as Row[]).entries()) {
    const of = (field: unknown) => (field as Row[])[row] as Row;
    const end = discounts.findIndex((_, t) => t < discounts.length - 2 && (of(step_type)[t] === LAST || of(next_step_type)[t] === LAST));
    if (end < 0 || discounts.slice(0, end + 1).includes(0)) continue;
    cuts++;
    // The discounted sum of the rewards up to the boundary.
    let sum = 0;
    for (let t = end; t >= 0; t--) sum = (of(reward)[t] as number) + gamma * (discounts[t] as number) * (t === end ? 0 : sum);
    const product = discounts.slice(0, end + 1).reduce((all, one) => all * one, 1);
    (next.reward as unknown[])[row] = sum;
    (next.discount as unknown[])[row] = product * gamma ** end;
    (next.step_type as unknown[])[row] = of(step_type)[end + 1];
    next.observation = put(spec.observation, next.observation, observation, row, end + 1) as Fields;
  }
  return cuts === 0 ? undefined : { rule: "an n-step transition never adds rewards from behind a boundary", result: { ...recorded, value } };
}

/** In every leaf of an observation, replaces a row with step t of that row. */
function put(spec: unknown, to: unknown, from: unknown, row: number, t: number): unknown {
  if (Array.isArray(spec)) return spec.map((part, i) => put(part, (to as unknown[])[i], (from as unknown[])[i], row, t));
  if (isObject(spec) && typeof spec.dtype !== "string")
    return Object.fromEntries(Object.entries(spec).map(([key, part]) => [key, put(part, (to as Fields)[key], (from as Fields)[key], row, t)]));
  const rows = [...(to as unknown[])];
  rows[row] = (from as unknown[][])[row]?.[t];
  return rows;
}

/** Applies a rule: an episode without steps is converted to a trajectory without steps. */
function emptyEpisode({ reward, discount = reward }: Fields, recorded: Result): Ruled | undefined {
  if (!Array.isArray(discount) || discount.length > 0 || !isObject(recorded.value)) return undefined;
  return {
    rule: "an episode without steps is a trajectory without steps",
    result: { ...recorded, value: { ...recorded.value, step_type: [], next_step_type: [] } },
  };
}

/** Applies a rule: a single discount applies to every row. The recorded functions apply it only if an argument is a tensor, and we have no tensors. */
function spread({ reward, outer_dims }: Fields, recorded: Result): Ruled | undefined {
  const rows = Array.isArray(outer_dims) ? outer_dims[0] : Array.isArray(reward) ? reward.length : undefined;
  const { value } = recorded;
  if (!isObject(value) || typeof rows !== "number" || typeof value.discount !== "number") return undefined;
  return {
    rule: "one discount is every row's, as of tensors",
    result: { ...recorded, value: { ...value, discount: new Array(rows).fill(value.discount) } },
  };
}

/** Applies a rule: if only a time step is known, the next observation of the transition is zero, whatever the spec of observations is. */
function half({ value }: Fields, { observation }: Fields, recorded: Result): Ruled | undefined {
  if (recorded.error === undefined || !isObject(value) || !("step_type" in value)) return undefined;
  const isScalar = isObject(observation) && observation.dtype === "float32" && Array.isArray(observation.shape) && observation.shape.length === 0;
  if (isScalar) return undefined;
  return { rule: "a half transition's next observation is a zero, whatever observations are", result: { any: true } };
}
