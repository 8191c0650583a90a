/** The topics of an MCAP file: what they are, how many messages they have, and how often. */
import { dataView } from "../../../base/bytes.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { SourceFile } from "../sources/source.ts";
import { type Channel, MAGIC, type MessageOptions, messagesOf, RECORD_HEAD, Records, type Schema } from "./messages.ts";

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

/** Without the record's head: where the summary begins, its offsets, its checksum. */
const FOOTER_BODY = 20;

/** By the summary at the end, or else by all messages. @throws RldsError CORRUPT */
export async function topicsOf(file: SourceFile, options: MessageOptions): Promise<McapTopicInfo[]> {
  const summary = await summaryOf(file, options.maxBytes).catch(() => undefined);
  if (summary !== undefined) return summary;
  const topics = new Map<string, { readonly channel: Channel; readonly schema: Schema | undefined; count: number }>();
  let [first, last] = [2n ** 64n, 0n];
  for await (const { channel, schema, logTime } of messagesOf(file, options)) {
    const topic = topics.get(channel.topic) ?? { channel, schema, count: 0 };
    topic.count++;
    topics.set(channel.topic, topic);
    if (logTime < first) first = logTime;
    if (logTime > last) last = logTime;
  }
  return sorted([...topics.values()].map(({ channel, schema, count }) => infoOf(channel, schema, count, Number(last - first))));
}

async function summaryOf(file: SourceFile, maxBytes: number): Promise<McapTopicInfo[] | undefined> {
  const end = file.size - MAGIC.length - RECORD_HEAD - FOOTER_BODY;
  const start = Number(dataView(await file.read(end + RECORD_HEAD, 8)).getBigUint64(0, true));
  if (start === 0 || start >= end || end - start > maxBytes) return undefined;
  const records = await Records.create(file.name);
  for (const found of records.read(await file.read(start, end - start))) {
    if (found.type !== "Statistics") continue;
    const { messageStartTime, messageEndTime, channelMessageCounts, channelCount } = found;
    if (records.channels.size !== channelCount) return undefined;
    return sorted(
      [...records.channels.values()].map((channel) =>
        infoOf(channel, records.schemas.get(channel.schemaId), Number(channelMessageCounts.get(channel.id) ?? 0n), Number(messageEndTime - messageStartTime)),
      ),
    );
  }
  return undefined;
}

/** @param time of the file, in nanoseconds */
function infoOf({ topic, messageEncoding }: Channel, schema: Schema | undefined, messages: number, time: number): McapTopicInfo {
  const rate = messages > 1 && time > 0 ? Math.round(((messages - 1) * 1e10) / time) / 10 : 0;
  return { topic, schema: schema?.name ?? "", encoding: messageEncoding, messages, rate };
}

function sorted(topics: readonly McapTopicInfo[]): McapTopicInfo[] {
  return [...topics].sort((a, b) => (a.topic < b.topic ? -1 : 1));
}

const MAX_SHOWN = 100;

/** The error for a file that is opened without a mapping: it lists the topics. */
export function mappingError(file: string, topics: readonly McapTopicInfo[]): RldsError {
  return new RldsError("UNSUPPORTED", `the topics of MCAP need leaves${mappingText(topics)}`, { file });
}

/** Topics, one a line, and how a mapping is written. */
export function mappingText(topics: readonly McapTopicInfo[]): string {
  const lines = topics.slice(0, MAX_SHOWN).map(({ topic, schema, encoding, messages, rate }) => `\n  ${topic}  ${schema || "no schema"}  ${encoding}  ${messages} messages, ${rate} Hz`);
  const more = topics.length > MAX_SHOWN ? `\n  … and ${topics.length - MAX_SHOWN} more` : "";
  const names = topics.map(({ topic }) => topic);
  const example = { "observation/state": { topic: names[0] ?? "/joint_states", field: "position" }, action: { topic: names[1] ?? "/command", field: "data" } };
  return `; its topics are:${lines.join("")}${more}\nWrite which topic each leaf is from, as JSON, such as ${JSON.stringify(example)}: in a file for --topics, or in the option topics`;
}
