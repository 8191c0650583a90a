/** Infers the signature of a table from the configs that create its items. Corresponds to `infer_signature` of Reverb. */
import { described, mustBe, show } from "../../base/error.ts";
import { zip } from "../../schema/nest.ts";
import { leavesOf, type Spec } from "../../schema/spec.ts";
import { type CompiledConfig, compileConfig } from "../patterns/compile-config.ts";
import { type Config, mustBeConfigs, nameOf } from "../patterns/config.ts";
import { PatternNode } from "../patterns/pattern.ts";
import { type LeafSignature, type Signature, signatureText } from "../signature.ts";

/**
 * Infers a table's signature from its configs. If the length of a column differs between configs, its first dimension is null, which means any length.
 * @param stepSpec the spec of the steps
 * @throws TypeError, RangeError if there is no config, or if the items of the configs cannot share a batch (tables, names, dtypes or shapes differ)
 * @throws ReplayError SPEC_MISMATCH if the fields of the configs are not in `stepSpec`
 */
export function inferSignature(configs: readonly Config[], stepSpec: Spec): Signature {
  mustBeConfigs(configs);
  const leaves = leavesOf(stepSpec);
  const all = configs.map((config, i) => compileConfig(config, leaves, `configs[${i}]`));
  const [first] = all as [CompiledConfig, ...CompiledConfig[]];
  all.forEach(({ config, nodes }, i) => {
    const { table } = first.config;
    if (config.table !== table) throw mustBe(RangeError, `the table of configs[${i}]`, `${show(table)}, as in the first config`, config.table);
    const namesOf = (configNodes: CompiledConfig["nodes"]) => configNodes.map(({ keys }) => nameOf(keys)).join(", ");
    if (namesOf(nodes) !== namesOf(first.nodes))
      throw mustBe(RangeError, `the pattern of configs[${i}]`, `a pattern with the columns ${namesOf(first.nodes)}, like the first pattern`, namesOf(nodes));
  });
  const signature = (k: number): LeafSignature => {
    const { dtype, shape } = all.map(({ nodes }) => describeColumn(nodes[k] as CompiledConfig["nodes"][number])).reduce(mergeColumns);
    return { dtype, shape };
  };
  const isEnd = (node: unknown) => node instanceof PatternNode;
  return zip([first.config.pattern], isEnd, (_, keys) => signature(first.nodes.findIndex((node) => node.keys.join(".") === keys.join("."))));
}

interface ColumnSignature extends LeafSignature {
  readonly name: string;
  readonly shape: readonly (number | null)[];
}

function describeColumn({ keys, ages, node: { isSqueezed, leaf } }: CompiledConfig["nodes"][number]): ColumnSignature {
  return { name: nameOf(keys), dtype: leaf.leaf.dtype, shape: [...(isSqueezed ? [] : [ages.length]), ...leaf.shape] };
}

/** Merges the signatures that two configs give to the same column. */
function mergeColumns(a: ColumnSignature, b: ColumnSignature): ColumnSignature {
  const areEqual = a.dtype === b.dtype && a.shape.length === b.shape.length && a.shape.every((n, i) => i === 0 || n === b.shape[i]);
  if (!areEqual)
    throw mustBe(
      RangeError,
      `the column ${a.name} of each config`,
      `${signatureText(a)}, as in the first config, except for its length`,
      described(signatureText(b)),
    );
  return { ...a, shape: a.shape.map((n, i) => (n === b.shape[i] ? n : null)) };
}
