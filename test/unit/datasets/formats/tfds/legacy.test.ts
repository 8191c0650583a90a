/** Tests older forms of JSON files that tensorflow_datasets still reads. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openTfds } from "../../../../../src/datasets/rlds/index.ts";
import { foundIn } from "../../../../support/rlds-columns.ts";

const TINY = fileURLToPath(new URL("../../../../data/extra/tfds/tiny/1.0.0/", import.meta.url));
const FILES = new Map(readdirSync(TINY).map((file) => [file, new Uint8Array(readFileSync(TINY + file))]));

type Node = { readonly [key: string]: unknown };

interface Proto {
  readonly pythonClassName: string;
  readonly featuresDict?: { readonly features?: { readonly [name: string]: Proto } };
  readonly sequence?: { readonly feature: Proto; readonly length?: string };
  readonly [content: string]: unknown;
}

const dimensions = (content: Node) =>
  ((content.shape as { dimensions?: string[] } | undefined)?.dimensions ?? []).map((length) => (Number(length) === -1 ? null : Number(length)));

/** Returns the form used until 2021: `type`, and `content` as plain JSON. */
function oldest({ pythonClassName: type, featuresDict, sequence, ...rest }: Proto): Node {
  if (featuresDict !== undefined)
    return { type, content: Object.fromEntries(Object.entries(featuresDict.features ?? {}).map(([name, one]) => [name, oldest(one)])) };
  if (sequence !== undefined)
    return { type, content: { feature: oldest(sequence.feature), length: sequence.length === "-1" ? null : Number(sequence.length) } };
  const content = Object.values(rest)[0] as Node;
  if ("encodingFormat" in content) return { type, content: { shape: dimensions(content), dtype: content.dtype, encoding_format: content.encodingFormat } };
  return { type, content: "dtype" in content ? { ...content, shape: dimensions(content) } : {} };
}

/** Returns the form of `to_json`: `type`, `content`, and the name of the content's protobuf message. */
function older({ pythonClassName: type, ...rest }: Proto): Node {
  const [[name, content] = ["", {}]] = Object.entries(rest) as [string, Node][];
  return { type, content, proto_cls: `tensorflow_datasets.${name}` };
}

/** Returns the value with the field names of protobuf, in snake case. */
function snake(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snake);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), snake(one)]));
}

const features = JSON.parse(new TextDecoder().decode(FILES.get("features.json"))) as Proto;
const info = JSON.parse(new TextDecoder().decode(FILES.get("dataset_info.json")));
const encoded = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));

test.each<[string, unknown, unknown]>([
  ["type and content", oldest(features), info],
  ["type, content and the protobuf's name", older(features), info],
  ["content as text", { ...older(features), content: JSON.stringify(older(features).content) }, info],
  ["names with underscores", snake(features), snake(info)],
  ["no template and no file format", features, { ...info, fileFormat: undefined, splits: [{ ...info.splits[0], filepathTemplate: undefined }] }],
])("reads the older form: %s", async (_, featuresJson, infoJson) => {
  const files = new Map([...FILES, ["features.json", encoded(featuresJson)], ["dataset_info.json", encoded(infoJson)]]);
  const [old, now] = [await openTfds(files), await openTfds(FILES)];
  expect(old.stepSpec).toEqual(now.stepSpec);
  expect(old.metadataSpec).toEqual(now.metadataSpec);
  expect(await foundIn(old)).toEqual(await foundIn(now));
});

test("a template can name folders, shards and splits in any format", async () => {
  const shard = FILES.get("tiny-train.tfrecord-00000-of-00001") as Uint8Array;
  const named = (filepathTemplate: string, path: string) => {
    const json = { ...info, splits: [{ ...info.splits[0], filepathTemplate }] };
    return new Map(
      [...FILES, ["dataset_info.json", encoded(json)], [path, shard]].filter(([name]) => name !== "tiny-train.tfrecord-00000-of-00001") as [
        string,
        Uint8Array,
      ][],
    );
  };
  for (const [template, path] of [
    ["{SPLIT}/data.{FILEFORMAT}-{SHARD_INDEX}", "train/data.tfrecord-00000"],
    ["{DATASET}_{SHARD_INDEX}_{NUM_SHARDS}", "tiny_00000_00001"],
    ["all", "all"],
  ] as const) {
    expect((await foundIn(await openTfds(named(template, path)))).episodes).toBe(3);
  }
});
