/** Reports the topics of an MCAP file to callers that have not mapped leaves to topics. */
import { RldsError } from "../../model/rlds-error.ts";

export interface McapTopicInfo {
  readonly topic: string;
  /** The name of the schema, such as `sensor_msgs/msg/JointState`. Empty if the topic has no schema. */
  readonly schema: string;
  /** The encoding of the messages: `cdr` or `json`. */
  readonly encoding: string;
  readonly messages: number;
  /** The number of messages per second over the duration of the file, or 0 for a single message. */
  readonly rate: number;
}

const MAX_SHOWN = 100;
/** The message types for which the example selects one field, which is usually the useful field. */
const FIELDS: readonly (readonly [schema: RegExp, field: string])[] = [
  [/\bJointState$/, "position"],
  [/\bPose(WithCovariance)?Stamped$/, "pose"],
  [/\bTwistStamped$/, "twist"],
  [/\bWrenchStamped$/, "wrench"],
  [/\bOdometry$/, "pose.pose"],
  [/\bMultiArray$/, "data"],
];

/** Matches topics that are probably commands. */
const COMMANDS = /cmd|command|action|target|goal|Twist|Joy|Trajectory/i;

/** The error that `openMcap` throws if the option `topics` is missing. */
export class McapTopicsError extends RldsError {
  /** The topics in the file. */
  readonly topics: readonly McapTopicInfo[];
  /** An example of a mapping that uses some of the topics. */
  readonly remedy: string;

  constructor(file: string, topics: readonly McapTopicInfo[]) {
    super("UNSUPPORTED", `an MCAP file does not define the leaves of a step, so the option topics is required${mappingText(topics)}`, { file });
    this.topics = topics;
    this.remedy = mappingRemedy(topics);
  }
}

/** Returns the topics and an example of a mapping. @param isSentence whether the text begins a sentence */
export function mappingText(topics: readonly McapTopicInfo[], isSentence = false): string {
  const texts = topics.slice(0, MAX_SHOWN).map(topicText);
  const more = topics.length > MAX_SHOWN ? `, … and ${topics.length - MAX_SHOWN} more` : "";
  return `${isSentence ? "" : "."} The topics are ${texts.join(", ") || "none"}${more}. ${mappingRemedy(topics)}`;
}

function topicText({ topic, schema, encoding, messages, rate }: McapTopicInfo): string {
  return `${topic} (${schema || "no schema"}, ${encoding}, ${messages} messages, ${rate} Hz)`;
}

/** Returns an example of a mapping with existing topics. */
function mappingRemedy(topics: readonly McapTopicInfo[]): string {
  const observation = topics.find(({ schema }) => FIELDS.some(([type]) => type.test(schema))) ?? topics[0];
  const others = topics.filter((info) => info !== observation);
  const action = others.find(({ topic, schema }) => COMMANDS.test(`${topic} ${schema}`)) ?? others[0] ?? observation;
  const example = { "observation/state": exampleOf(observation, "/joint_states"), action: exampleOf(action, "/command") };
  return `Map each leaf to a topic, as in ${JSON.stringify(example)}, in the option topics or in a JSON file for --topics`;
}

function exampleOf(info: McapTopicInfo | undefined, fallback: string): unknown {
  const field = FIELDS.find(([schema]) => schema.test(info?.schema ?? ""))?.[1];
  return field === undefined ? (info?.topic ?? fallback) : { topic: info?.topic ?? fallback, field };
}
