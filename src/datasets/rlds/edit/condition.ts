/** Parses conditions on episodes, such as `reward >= 1`. */
import { mustBe, onlyKeys } from "../../../base/error.ts";

export type Comparison = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** A condition on a leaf of the steps, on metadata, or on the `return` or `length` of an episode. */
export interface EpisodeCondition {
  /**
   * The subject of the condition: `return`, `length`, or the path of a leaf or of metadata, with dots or slashes (`observation/state`, `success`). The path of
   * a group selects all leaves below it. A path that ends with an index selects one element: `observation/state/1`.
   */
  readonly path: string;
  /** The comparison with `value`. Default: none, so the condition holds if the value of the subject is not zero, not false and not empty. */
  readonly comparison?: Comparison;
  readonly value?: number | bigint | boolean | string;
}

const COMPARISONS: readonly unknown[] = ["=", "!=", "<", "<=", ">", ">="];
const RULE = 'a condition such as "success", "return >= 10" or "task = pick"';

/** Parses a condition from text, or checks a condition object. @throws TypeError, RangeError if the condition is invalid */
export function conditionOf(where: string | EpisodeCondition): EpisodeCondition {
  if (typeof where === "string") return parseCondition(where);
  const { path, comparison, value } = onlyKeys("where", where, "path, comparison, value");
  if (typeof path !== "string" || path === "") throw mustBe(TypeError, "where.path", "the path of a leaf, return or length", path);
  if (comparison === undefined) return { path };
  if (!COMPARISONS.includes(comparison)) throw mustBe(RangeError, "where.comparison", `one of ${COMPARISONS.join(", ")}`, comparison);
  if (!["number", "bigint", "boolean", "string"].includes(typeof value)) throw mustBe(TypeError, "where.value", "a number, a boolean or a string", value);
  return { path, comparison, value: value as string };
}

function parseCondition(text: string): EpisodeCondition {
  const at = text.search(/[<>=!]/);
  const path = (at < 0 ? text : text.slice(0, at)).trim();
  const [comparison] = at < 0 ? [] : (/^(<=|>=|!=|==|[<>=])/.exec(text.slice(at)) ?? []);
  if (path === "" || (at >= 0 && comparison === undefined)) throw mustBe(RangeError, "where", RULE, text);
  if (comparison === undefined) return { path };
  const value = text.slice(at + comparison.length).trim();
  return { path, comparison: comparison === "==" ? "=" : (comparison as Comparison), value: parseValue(value) };
}

/** Parses a number, true or false. Integers of 16 to 20 digits become bigints. Any other text, and any text in quotes, is a string. */
function parseValue(text: string): number | bigint | boolean | string {
  if (/^-?\d{16,20}$/.test(text)) return BigInt(text);
  if (text === "true" || text === "false") return text === "true";
  const [, quoted] = /^"(.*)"$/.exec(text) ?? /^'(.*)'$/.exec(text) ?? [];
  if (quoted !== undefined) return quoted;
  const number = Number(text);
  return text === "" || Number.isNaN(number) ? text : number;
}
