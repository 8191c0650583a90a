/** The topics of an MCAP file, for who does not say yet which leaf each is. */
import { RldsError } from "../../model/rlds-error.ts";

export interface McapTopicInfo {
  readonly topic: string;
  /** The name of its schema, such as `sensor_msgs/msg/JointState`; empty without one. */
  readonly schema: string;
  /** Of its messages: `cdr`, `json`. */
  readonly encoding: string;
  readonly messages: number;
  /** Messages per second over the time of the file; 0 for a single one. */
  readonly rate: number;
}

const MAX_SHOWN = 100;
/** Types whose messages are of use by one field. */
const FIELDS: readonly (readonly [schema: RegExp, field: string])[] = [
  [/\bJointState$/, "position"],
  [/\bPose(WithCovariance)?Stamped$/, "pose"],
  [/\bTwistStamped$/, "twist"],
  [/\bWrenchStamped$/, "wrench"],
  [/\bOdometry$/, "pose.pose"],
  [/\bMultiArray$/, "data"],
];

/** Topics that are probably commands. */
const COMMANDS = /cmd|command|action|target|goal|Twist|Joy|Trajectory/i;

/** The error for a file that is opened without the option `topics`. */
export class McapTopicsError extends RldsError {
  /** What the file has. */
  readonly topics: readonly McapTopicInfo[];
  /** How a mapping is written, by an example with these topics. */
  readonly remedy: string;

  constructor(file: string, topics: readonly McapTopicInfo[]) {
    super("UNSUPPORTED", `an MCAP file does not say what the leaves of a step are${mappingText(topics)}`, { file });
    this.topics = topics;
    this.remedy = mappingRemedy(topics);
  }
}

/** Topics, and how a mapping is written. @param isSentence whether a sentence begins with it */
export function mappingText(topics: readonly McapTopicInfo[], isSentence = false): string {
  const texts = topics.slice(0, MAX_SHOWN).map(topicText);
  const more = topics.length > MAX_SHOWN ? `, … and ${topics.length - MAX_SHOWN} more` : "";
  return `${isSentence ? " The" : "; its"} topics are ${texts.join(", ") || "none"}${more}. ${mappingRemedy(topics)}`;
}

function topicText({ topic, schema, encoding, messages, rate }: McapTopicInfo): string {
  return `${topic} (${schema || "no schema"}, ${encoding}, ${messages} messages, ${rate} Hz)`;
}

/** How a mapping is written, with topics that are there. */
function mappingRemedy(topics: readonly McapTopicInfo[]): string {
  const observation = topics.find(({ schema }) => FIELDS.some(([type]) => type.test(schema))) ?? topics[0];
  const others = topics.filter((info) => info !== observation);
  const action = others.find(({ topic, schema }) => COMMANDS.test(`${topic} ${schema}`)) ?? others[0] ?? observation;
  const example = { "observation/state": exampleOf(observation, "/joint_states"), action: exampleOf(action, "/command") };
  return `Write which topic each leaf is from, as JSON, such as ${JSON.stringify(example)}: in a file for --topics, or in the option topics`;
}

function exampleOf(info: McapTopicInfo | undefined, fallback: string): unknown {
  const field = FIELDS.find(([schema]) => schema.test(info?.schema ?? ""))?.[1];
  return field === undefined ? (info?.topic ?? fallback) : { topic: info?.topic ?? fallback, field };
}
