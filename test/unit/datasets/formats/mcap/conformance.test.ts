/** Tests Foxglove's conformance files: every listed message must be read, whatever index, padding or summary the file has. */
import { unzipSync } from "fflate";
import { expect, it } from "vitest";
import { topicsOf } from "../../../../../src/datasets/formats/mcap/listing.ts";
import { messagesOf } from "../../../../../src/datasets/formats/mcap/messages.ts";
import { bytesFile } from "../../../../../src/datasets/formats/sources/bytes-source.ts";
import { dataFolder, fileBytes } from "../../rlds/data.ts";

const files = new Map(Object.entries(unzipSync(fileBytes(dataFolder("mcap/conformance.zip")))));
const OPTIONS = { maxBytes: 2 ** 20, losses: undefined };

interface Stated {
  readonly records: readonly { readonly type: string; readonly fields: readonly (readonly [name: string, value: unknown])[] }[];
}

it("every message of the 416 conformance files is read", async () => {
  const names = [...files.keys()].filter((path) => path.endsWith(".mcap"));
  expect(names.length).toBe(416);
  let count = 0;
  for (const name of names) {
    const { records } = JSON.parse(new TextDecoder().decode(files.get(name.replace(/mcap$/, "json")))) as Stated;
    const stated = records.map(({ type, fields }) => ({ ...Object.fromEntries(fields), type }) as { readonly [name: string]: string });
    const channels = new Map(stated.filter(({ type }) => type === "Channel").map((channel) => [channel.id, channel]));
    const schemas = new Map(stated.filter(({ type }) => type === "Schema").map((schema) => [schema.id, schema]));
    const expected = stated
      .filter(({ type }) => type === "Message")
      .map(({ channel_id, data, log_time, publish_time }) => {
        const { topic, message_encoding, schema_id } = channels.get(channel_id) as { readonly [name: string]: string };
        return {
          topic,
          encoding: message_encoding,
          schema: schemas.get(schema_id)?.name,
          data: Array.from(data as unknown as string[], Number),
          log_time,
          publish_time,
        };
      });
    const file = bytesFile(name, files.get(name) as Uint8Array);
    const found = [];
    for await (const { channel, schema, data, logTime, publishTime } of messagesOf(file, OPTIONS))
      found.push({
        topic: channel.topic,
        encoding: channel.messageEncoding,
        schema: schema?.name,
        data: [...data],
        log_time: String(logTime),
        publish_time: String(publishTime),
      });
    expect(found, name).toEqual(expected);
    const topics = await topicsOf(file, OPTIONS);
    expect(
      topics.reduce((sum, { messages }) => sum + messages, 0),
      name,
    ).toBe(expected.length);
    count += found.length;
  }
  // There are 154 files with one message and a schema, 74 with one message without a schema, and 154 with ten messages.
  expect(count).toBe(154 + 74 + 1540);
});
