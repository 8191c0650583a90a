/** Encodes the spec of a file of records. */
import { isLeaf, type Leaf, shapeOf } from "../../../schema/leaf.ts";
import type { Spec } from "../../../schema/spec.ts";
import { MessageParts } from "../tfds/message-parts.ts";
import { recordOf } from "../tfds/tfrecord.ts";
import { DATA_TYPES } from "./features.ts";
import { type Candidates, candidatesIn, namedTupleOf, WHOLE } from "./named-tuples.ts";
import { DICT, NAMED_TUPLE, TENSOR_SPEC, TUPLE } from "./structured-value.ts";

const encoder = new TextEncoder();

/**
 * Returns the record of a spec file. Lists become tuples, and objects become dicts. Trajectories, transitions and their steps become named tuples of TF-Agents.
 */
export function specRecord(spec: Spec): readonly Uint8Array[] {
  return recordOf(structureOf(spec, WHOLE).parts);
}

function structureOf(spec: Spec, candidates: Candidates): MessageParts {
  const value = new MessageParts();
  if (isLeaf(spec)) value.message(TENSOR_SPEC, tensorSpecOf(spec as Leaf));
  else if (Array.isArray(spec)) {
    const tuple = new MessageParts();
    for (const part of spec) tuple.message(1, structureOf(part, []));
    value.message(TUPLE, tuple);
  } else {
    const parts = spec as { readonly [name: string]: Spec };
    const namedTuple = namedTupleOf(spec, candidates);
    const node = new MessageParts();
    if (namedTuple !== undefined) node.field(1, encoder.encode(namedTuple.name));
    for (const name of namedTuple?.fields.keys() ?? Object.keys(parts).sort()) {
      const pair = new MessageParts();
      pair.field(1, encoder.encode(namedTuple?.fields.get(name) ?? name));
      pair.message(2, structureOf(parts[name] as Spec, candidatesIn(namedTuple, name)));
      node.message(namedTuple === undefined ? 1 : 2, pair);
    }
    value.message(namedTuple === undefined ? DICT : NAMED_TUPLE, node);
  }
  return value;
}

function tensorSpecOf(leaf: Leaf): MessageParts {
  const [spec, shape] = [new MessageParts(), new MessageParts()];
  for (const n of shapeOf(leaf)) {
    const dim = new MessageParts();
    dim.varints([8, n]);
    shape.message(2, dim);
  }
  spec.message(2, shape);
  spec.varints([3 * 8, DATA_TYPES.get(leaf.dtype) as number]);
  return spec;
}
