/** Implements the ops of the Python buffer cases, by name. Each makes the call on our buffer, and returns our answer in the format of the cases. */

import type { Spec } from "../../../src/index.ts";
import { PyHashedReplayBuffer, PyUniformReplayBuffer, type trajectorySpec } from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { bufferSpec, double, given, plain, shapes } from "../buffers/values.ts";
import { isObject, Malformed, type Op, type Result } from "../case.ts";
import { dtypes } from "../trajectories/values.ts";

type Args = Op[1];
type Buffer = PyUniformReplayBuffer | PyHashedReplayBuffer<ReturnType<typeof trajectorySpec>>;

/** The buffer of a case. */
export class PyBufferWorld {
  readonly theirSpec: unknown;
  readonly spec: Spec;
  readonly buffer: Buffer;

  constructor({ buffer, spec }: Args) {
    if (!isObject(buffer)) throw new Malformed("buffer must be an object");
    const { class: kind, ...args } = buffer;
    this.theirSpec = spec;
    this.spec = bufferSpec(spec);
    const options = { seed: 1, ...ourArguments(args) } as never;
    if (kind === "PyUniformReplayBuffer") this.buffer = new PyUniformReplayBuffer(this.spec, options);
    else if (kind === "PyHashedReplayBuffer") this.buffer = new PyHashedReplayBuffer(this.spec as ReturnType<typeof trajectorySpec>, options);
    else throw new Malformed(`unknown buffer ${JSON.stringify(kind)}`);
  }
}

function datasetOf({ buffer, spec }: PyBufferWorld, args: unknown): Iterable<unknown> {
  const { sequencePreprocessFn: fn, ...options } = ourArguments(args);
  if (fn !== undefined && fn !== "double") throw new Malformed(`unknown sequence_preprocess_fn ${JSON.stringify(fn)}`);
  return buffer.asDataset({ ...options, ...(fn === undefined ? {} : { sequencePreprocessFn: (items: unknown) => double(spec, items) }) } as never);
}

function* taken(elements: Iterable<unknown>, n: unknown): Generator<unknown> {
  let left = n as number;
  if (left === 0) return;
  for (const element of elements) {
    yield element;
    if (--left === 0) return;
  }
}

/** Returns the distinct elements, sorted by their JSON text. */
function different(elements: Iterable<unknown>): Result {
  const seen = new Set<string>();
  for (const element of elements) seen.add(JSON.stringify(plain(element)));
  return { outcomes: [...seen].sort().map((one) => JSON.parse(one)) };
}

function* draws(world: PyBufferWorld, args: unknown, n: number): Generator<unknown> {
  for (let i = 0; i < n; i++) yield world.buffer.getNext(ourArguments(args) as never);
}

export const PY_BUFFER_OPS: { readonly [name: string]: (world: PyBufferWorld, args: Args) => Result } = {
  add_batch(world, { items, spec }) {
    world.buffer.addBatch(given(spec ?? world.theirSpec, items) as never);
    return {};
  },
  size: ({ buffer }) => ({ value: buffer.size }),
  capacity: ({ buffer }) => ({ value: buffer.capacity }),
  num_frames: ({ buffer }) => ({ value: buffer.numFrames() }),
  frames({ buffer }) {
    if (!(buffer instanceof PyHashedReplayBuffer)) throw new Malformed("only a hashed buffer has frames");
    return { value: buffer.distinctFrames };
  },
  clear({ buffer }) {
    buffer.clear();
    return {};
  },
  gather_all({ buffer }) {
    const all = buffer.gatherAll();
    return { data: plain(all), shapes: shapes(all) };
  },
  get_next({ buffer }, { args, shapes_only }) {
    const items: unknown = buffer.getNext(ourArguments(args) as never);
    const told = { shapes: shapes(items), dtypes: dtypes(items) };
    const list = isObject(args) && args.time_stacked === false && args.num_steps != null ? { list: true } : {};
    return shapes_only === true ? { ...told, ...list } : { data: "list" in list ? (items as unknown[]).map(plain) : plain(items), ...told, ...list };
  },
  outcomes: (world, { args, draws: n = 400 }) => different(draws(world, args, n as number)),
  dataset(world, { args, take, outcomes, draws: n = 400 }) {
    const elements = datasetOf(world, args);
    return outcomes === true ? different(taken(elements, n)) : { elements: [...taken(elements, take)].map(plain) };
  },
};
