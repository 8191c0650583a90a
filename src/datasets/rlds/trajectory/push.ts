/** Pushes RLDS steps into tables, like `push_rlds_to_reverb` of TF-Agents. */

import { mustBe, onlyKeys, ReplayError } from "../../../base/error.ts";
import { valueAt } from "../../../schema/nest.ts";
import type { Spec } from "../../../schema/spec.ts";
import type { LeafSignature, Signature } from "../../../tf-agents/signature.ts";
import type { Trajectory } from "../../../tf-agents/trajectory.ts";
import type { RldsDataset } from "../../model/dataset.ts";
import { castPlain } from "../../model/plain-numbers.ts";
import { describePlace, type Place, RldsError } from "../../model/rlds-error.ts";
import { mustBeFn, trajectories } from "./convert.ts";
import { Pairing } from "./pairing.ts";
import type { PolicyInfoFn } from "./policy-info.ts";
import type { TrajectoryDataSpec } from "./trajectory-spec.ts";

/**
 * A receiver of trajectories, which is an observer of reprise/agents or any other function. If the receiver has `getTableSignature`, the signature of the
 * tables is checked before anything is pushed.
 */
export interface TrajectoryTaker {
  (trajectory: Trajectory): unknown;
  getTableSignature?(): Signature | Promise<Signature>;
}

export interface PushOptions {
  readonly signal?: AbortSignal;
  /** Called after each episode with the number of trajectories that were pushed so far. */
  readonly onProgress?: (pushed: number) => void;
}

/**
 * Passes every step to the observer as a trajectory, and waits for the observer. The observer determines which items are created. For pairs or windows of any
 * length, use `ReverbAddTrajectoryObserver` with a `sequenceLength` and `strideLength`. For whole episodes, use `ReverbAddEpisodeObserver`. If an episode ends
 * with a transition, its last observation is repeated, as with `withFinalObservations`. The call does not flush the observer. Trajectories that were pushed
 * before an error remain.
 * @returns the number of pushed trajectories
 * @throws RldsError EMPTY if there are no steps
 * @throws RldsError SPEC_MISMATCH, before anything is pushed, if the signature of the tables differs from `createTrajectoryDataSpec(rlds, policyInfoFn)`
 * @throws RldsError INVALID_DATA if the flags of an episode are not valid. Each error includes the episode, the step and the number of trajectories before the
 * fault
 */
export async function pushRldsToReverb(rlds: RldsDataset, observer: TrajectoryTaker, policyInfoFn?: PolicyInfoFn, options: PushOptions = {}): Promise<number> {
  if (typeof observer !== "function") throw mustBe(TypeError, "observer", "an observer of reprise/agents, or a function that accepts trajectories", observer);
  mustBeFn(policyInfoFn);
  const { signal, onProgress } = onlyKeys("options", options, "signal, onProgress");
  if (signal !== undefined && typeof signal?.throwIfAborted !== "function") throw mustBe(TypeError, "signal", "an AbortSignal", signal);
  signal?.throwIfAborted();
  const pairing = new Pairing(policyInfoFn);
  let pushed = 0;
  const signature = await observer.getTableSignature?.();
  const data = signature === undefined ? rlds : castPlain(rlds, (keys) => (valueAt(signature, keys) as LeafSignature | undefined)?.dtype);
  for await (const trajectory of trajectories(data, policyInfoFn, (spec) => mustMatch(observer, spec), pairing)) {
    signal?.throwIfAborted();
    const last = trajectory.stepType === 2;
    try {
      const pending = observer(trajectory);
      if (pending !== undefined) await pending;
    } catch (error) {
      throw withPlace(error, pairing.place);
    }
    pushed++;
    if (last) onProgress?.(pushed);
  }
  return pushed;
}

/** Adds the place to a ReplayError or RangeError of the observer. Returns any other error unchanged. */
function withPlace(error: unknown, place: Place): unknown {
  if (error instanceof ReplayError) return new RldsError(error.code, error.message, place, { cause: error });
  // An observer throws a RangeError if an episode is too long.
  if (error instanceof RangeError && error.constructor === RangeError)
    return Object.assign(new RangeError(`${error.message}${describePlace(place)}`, { cause: error }), place);
  return error;
}

/**
 * Compares the signature of the observer's tables, if it is known, with a spec. @throws RldsError SPEC_MISMATCH with the name of the first leaf that differs
 */
async function mustMatch(observer: TrajectoryTaker, spec: TrajectoryDataSpec): Promise<void> {
  if (typeof observer.getTableSignature !== "function") return;
  const mismatch = difference(await observer.getTableSignature(), spec, "");
  if (mismatch === undefined) return;
  throw new RldsError(
    "SPEC_MISMATCH",
    `the signature of the observer's tables must match the result of createTrajectoryDataSpec for the data, with a time dimension before each shape: ${mismatch}`,
    { pushed: 0 },
  );
}

/** Returns the first difference between a signature and a spec. */
function difference(signature: Signature | undefined, spec: Spec | undefined, path: string): string | undefined {
  const [table, data] = [summarizeNode(signature), summarizeNode(spec)];
  if (table.leaf !== undefined || data.leaf !== undefined) {
    return table.leaf !== undefined && data.leaf !== undefined && matchesColumn(table.leaf, data.leaf)
      ? undefined
      : `${path || "a step"} is ${table.text} in the tables, but ${data.text} in the data`;
  }
  for (const name of new Set([...Object.keys(table.nodes), ...Object.keys(data.nodes)])) {
    const mismatch = difference(table.nodes[name] as Signature | undefined, data.nodes[name] as Spec | undefined, path === "" ? name : `${path}.${name}`);
    if (mismatch !== undefined) return mismatch;
  }
  return undefined;
}

/** Returns whether a table's column has the same dtype and shape per step as the data. Data cannot be written to a server's column of a different dtype. */
function matchesColumn(table: LeafSignature, data: LeafSignature): boolean {
  if (table.dtype !== data.dtype || table.stored !== undefined) return false;
  return table.shape === null || table.shape.slice(1).join() === data.shape?.join();
}

interface NodeSummary {
  readonly leaf?: LeafSignature;
  readonly nodes: { readonly [name: string]: unknown };
  readonly text: string;
}

function summarizeNode(node: Signature | Spec | undefined): NodeSummary {
  const leaf = node as LeafSignature | undefined;
  if (typeof leaf?.dtype === "string") return { leaf, nodes: {}, text: textOf(leaf) };
  return {
    nodes: (node ?? {}) as { readonly [name: string]: unknown },
    text: node === undefined ? "missing" : `nested with keys ${Object.keys(node).join(", ") || "none"}`,
  };
}

function textOf({ dtype, shape, stored }: LeafSignature): string {
  const sizes = shape === null ? "any shape" : `shape [${shape.map((n) => n ?? "any").join(", ")}]`;
  return `${dtype} of ${sizes}${stored === undefined ? "" : ` (${stored} on the server)`}`;
}
