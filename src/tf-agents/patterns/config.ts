/**
 * Defines the configs of a structured writer. A config creates an item from a pattern for a table whenever its conditions hold. Corresponds to
 * `StructuredWriterConfig` of Reverb.
 */
import { mustBe, onlyKeys } from "../../base/error.ts";
import { Comparable, Condition } from "./condition.ts";
import { nodesOf, type Pattern } from "./pattern.ts";
import { constantPriorityFn, PriorityFn } from "./priority.ts";

export interface ConfigOptions {
  /** The conditions, all of which must hold. Default: none, so an item is created whenever there are enough steps. */
  readonly conditions?: readonly Condition[];
  /** Computes the priority of items. Default: always 1. */
  readonly priority?: PriorityFn;
}

/** A config, created by `createConfig`. */
export class Config<P extends Pattern = Pattern> {
  readonly pattern: P;
  readonly table: string;
  readonly conditions: readonly Condition[];
  readonly priority: PriorityFn;

  constructor(pattern: P, table: string, conditions: readonly Condition[], priority: PriorityFn) {
    this.pattern = pattern;
    this.table = table;
    this.conditions = conditions;
    this.priority = priority;
    Object.freeze(this);
  }
}

/**
 * Creates a config. Corresponds to `create_config` of Reverb.
 * @throws TypeError, RangeError if the pattern has no nodes, if two of its nodes have the same dotted name, if the table has no name, or if a condition has no
 * comparison
 */
export function createConfig<P extends Pattern>(pattern: P, table: string, options: ConfigOptions = {}): Config<P> {
  const { conditions = [], priority = constantPriorityFn(1) } = onlyKeys("options", options, "conditions, priority");
  const names = nodesOf(pattern).map(({ keys }) => nameOf(keys));
  if (names.length === 0) throw mustBe(RangeError, "pattern", "a nest with at least one node, such as { x: step.field.at(-1) }", pattern);
  const duplicate = names.find((name, i) => names.indexOf(name) !== i);
  if (duplicate !== undefined) throw mustBe(RangeError, "pattern", "a nest whose nodes have different dotted names", duplicate);
  if (typeof table !== "string") throw mustBe(TypeError, "table", "a string", table);
  if (table === "") throw mustBe(RangeError, "table", "the name of a table", table);
  if (!Array.isArray(conditions)) throw mustBe(TypeError, "conditions", "an array of conditions", conditions);
  conditions.forEach((condition: unknown, i) => {
    if (condition instanceof Comparable)
      throw mustBe(TypeError, `conditions[${i}]`, "a comparison with a number, such as Condition.stepIndex().ge(2)", condition);
    if (!(condition instanceof Condition)) throw mustBe(TypeError, `conditions[${i}]`, "a condition, such as Condition.stepIndex().ge(2)", condition);
  });
  if (!(priority instanceof PriorityFn)) throw mustBe(TypeError, "priority", "a result of constantPriorityFn or tdError", priority);
  return new Config(pattern, table, Object.freeze([...conditions]), priority);
}

/** Returns the nested pattern of a config. Corresponds to `unpack_pattern` of Reverb. @throws TypeError if the value is not a config */
export function unpackPattern<P extends Pattern>(config: Config<P>): P {
  if (!(config instanceof Config)) throw mustBe(TypeError, "config", "a result of createConfig", config);
  return config.pattern;
}

/** Returns the name of a node's column in batches, which is its dotted path. */
export function nameOf(keys: readonly string[]): string {
  return keys.join(".") || "value";
}

/** Checks that `configs` is an array of at least one config. @throws TypeError if it is not an array of configs · RangeError if it is empty */
export function mustBeConfigs(configs: unknown): asserts configs is readonly Config[] {
  if (!Array.isArray(configs)) throw mustBe(TypeError, "configs", "an array of configs", configs);
  if (configs.length === 0) throw mustBe(RangeError, "configs", "an array of at least one config", configs);
  configs.forEach((config, i) => {
    if (!(config instanceof Config)) throw mustBe(TypeError, `configs[${i}]`, "a result of createConfig", config);
  });
}
