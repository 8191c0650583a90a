/** Checks the options for MCAP, which set the topic of each leaf, the rate, and the beginnings of episodes. */
import { finite, mustBe, onlyKeys } from "../../../base/error.ts";
import type { Fetch } from "../../../base/host.ts";
import { type Field, fieldsOf } from "../columns/names.ts";
import type { ReadOptions } from "../reader.ts";
import { splitPath } from "../selection/selection.ts";
import type { SampleRule } from "./ticks.ts";

/** The topic and the field from which the values of a leaf are read. */
export interface McapTopic {
  readonly topic: string;
  /**
   * The path of a field in the message, such as `pose.position.x` or `data.0`. Several paths form a vector of their numbers. Default: the whole message, in the
   * order of its fields.
   */
  readonly field?: string | readonly string[];
}

/** A topic whose messages begin episodes. */
export interface McapMarker {
  readonly topic: string;
  /**
   * The field whose changes begin an episode. While the field is false or an empty text, there is no episode. Default: none, so every message begins an
   * episode.
   */
  readonly field?: string;
}

/** The rule that a pause in the messages ends an episode. */
export interface McapGap {
  /** The minimum length of the pause, in seconds. During the pause, no topic of a leaf has a message. */
  readonly gap: number;
}

export interface McapOptions extends ReadOptions {
  /**
   * The topic of each leaf, such as `{ "observation/state": { topic: "/joint_states", field: "position" } }`. A string names a topic whose whole message is the
   * value. This option is required to read episodes.
   */
  readonly topics?: { readonly [leaf: string]: string | McapTopic };
  /** The number of steps per second. Default: 10. */
  readonly rate?: number;
  /** The message that a step uses: "last" for the last message at or before the time of the step, or "nearest" for the nearest message. Default: "last". */
  readonly sample?: SampleRule;
  /** The time of a message: when it was logged ("log"), when it was published ("publish"), or the time in its header ("header"). Default: "log". */
  readonly time?: "log" | "publish" | "header";
  /**
   * The rule that divides messages into episodes. Default: one episode per file. The files of a ROS 2 bag, which is a folder with metadata.yaml, form one
   * episode.
   */
  readonly episodesBy?: "file" | McapGap | McapMarker;
  /** A replacement for the runtime's `fetch`, for URLs. */
  readonly fetch?: Fetch;
}

/** The fields of a step that topics may provide. The first four contain values, and the other fields end episodes. */
const STEP_PARTS: readonly Field[] = ["observation", "action", "reward", "discount", "terminated", "done", "is_terminal"];

/** The names of the options that are specific to MCAP. */
export const MCAP_OPTIONS = "topics, rate, sample, time, episodesBy, fetch";

export interface TopicLeaf {
  /** The path in the step, with RLDS names. */
  readonly keys: readonly string[];
  readonly topic: string;
  readonly fields: readonly string[];
  /** Whether the whole message is selected instead of a field. Images are decoded only in that case. */
  readonly isWhole: boolean;
}

/** The checked options for MCAP. */
export interface Mapping {
  readonly leaves: readonly TopicLeaf[];
  readonly rate: number;
  readonly sample: SampleRule;
  readonly time: "log" | "publish" | "header";
  /** The gap between messages that ends an episode, in nanoseconds. */
  readonly gap: number | undefined;
  readonly marker: McapMarker | undefined;
}

/** Returns the checked options. @throws TypeError, RangeError if an option is invalid. The error includes the name of the option */
export function mappingOf({ topics, rate = 10, sample = "last", time = "log", episodesBy = "file" }: McapOptions): Mapping {
  const words = (name: string, value: unknown, all: readonly string[]) => {
    if (!all.includes(value as string)) throw mustBe(TypeError, name, all.map((word) => JSON.stringify(word)).join(" or "), value, all);
  };
  words("sample", sample, ["last", "nearest"]);
  words("time", time, ["log", "publish", "header"]);
  finite("rate", rate, Number.MIN_VALUE, 1e6);
  const { gap, marker } = ruleOf(episodesBy);
  return { leaves: leavesOf(topics), rate, sample, time, gap, marker };
}

function ruleOf(rule: McapOptions["episodesBy"]): { readonly gap: number | undefined; readonly marker: McapMarker | undefined } {
  if (rule === "file") return { gap: undefined, marker: undefined };
  const { gap, topic, field } = (typeof rule === "object" && rule !== null ? rule : {}) as Partial<McapGap & McapMarker>;
  if (typeof topic === "string" && gap === undefined) {
    onlyKeys("episodesBy", rule, "topic, field");
    return { gap: undefined, marker: { topic, ...(field !== undefined && { field: text("episodesBy.field", field) }) } };
  }
  if (gap === undefined) throw mustBe(TypeError, "episodesBy", '"file", { gap: seconds } or { topic, field }', rule);
  onlyKeys("episodesBy", rule, "gap");
  return { gap: finite("episodesBy.gap", gap, Number.MIN_VALUE) * 1e9, marker: undefined };
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") throw mustBe(TypeError, name, "a non-empty string", value);
  return value;
}

function leavesOf(topics: McapOptions["topics"]): TopicLeaf[] {
  if (topics === undefined) return [];
  if (typeof topics !== "object" || topics === null || Array.isArray(topics))
    throw mustBe(TypeError, "topics", "an object with paths of leaves as keys", topics);
  const entries = Object.entries(topics).map(([path, value]) => ({ keys: splitPath(path), path, value }));
  const fields = fieldsOf([...new Set(entries.map(({ keys }) => keys[0] as string))]);
  for (const [top, field] of fields)
    if (!STEP_PARTS.includes(field))
      throw mustBe(
        RangeError,
        "the keys of topics",
        [`paths of ${STEP_PARTS.join(", ")} or metadata`, "Use episodesBy to set where episodes begin"],
        top,
        STEP_PARTS,
      );
  const leaves = entries.map(({ keys: [top = "", ...below], path, value }): TopicLeaf => {
    const name = `topics[${JSON.stringify(path)}]`;
    if ([top, ...below].includes("")) throw mustBe(RangeError, "the keys of topics", "paths such as observation/state", path);
    const { topic, field } = typeof value === "string" ? { topic: value } : onlyKeys(name, value, "topic, field");
    const paths = field === undefined ? [""] : typeof field === "string" ? [text(`${name}.field`, field)] : field;
    if (!Array.isArray(paths) || paths.length === 0) throw mustBe(TypeError, `${name}.field`, "a path or a list of paths", field);
    for (const path of paths) if (path !== "" || field !== undefined) text(`${name}.field`, path);
    return { keys: [fields.get(top) ?? top, ...below], topic: text(`${name}.topic`, topic), fields: paths, isWhole: field === undefined };
  });
  for (const required of ["observation", "action"])
    if (!leaves.some(({ keys }) => keys[0] === required))
      throw mustBe(
        RangeError,
        "topics",
        `an object with a key for the ${required}, such as ${JSON.stringify(required === "action" ? "action" : "observation/state")}`,
        topics,
      );
  const paths = leaves.map(({ keys }) => keys.join("/"));
  const double = paths.find((path, i) => paths.some((other, k) => k !== i && (other === path || other.startsWith(`${path}/`))));
  if (double !== undefined) throw mustBe(RangeError, "the keys of topics", "different paths, none of which begins with another", double);
  return leaves;
}
