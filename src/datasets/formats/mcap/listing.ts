/** Lists the topics of an MCAP file, with their types, numbers of messages and rates. */
import { dataView } from "../../../base/bytes.ts";
import type { SourceFile } from "../sources/source.ts";
import { type Channel, MAGIC, type MessageOptions, messagesOf, RECORD_HEAD, Records, type Schema } from "./messages.ts";
import type { McapTopicInfo } from "./topics-error.ts";

/** The size of the footer in bytes, without the record header: the offset of the summary, the offset of the summary offset section, and a checksum. */
const FOOTER_BODY = 20;

/**
 * Returns the topics of a file. Reads the summary at the end of the file, or all messages if the file has no readable summary.
 * @throws RldsError CORRUPT if the file is damaged
 */
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

/** Describes a topic. @param messages the number of its messages @param time the duration of the file, in nanoseconds */
function infoOf({ topic, messageEncoding }: Channel, schema: Schema | undefined, messages: number, time: number): McapTopicInfo {
  const rate = messages > 1 && time > 0 ? Math.round(((messages - 1) * 1e10) / time) / 10 : 0;
  return { topic, schema: schema?.name ?? "", encoding: messageEncoding, messages, rate };
}

function sorted(topics: readonly McapTopicInfo[]): McapTopicInfo[] {
  return [...topics].sort((a, b) => (a.topic < b.topic ? -1 : 1));
}
