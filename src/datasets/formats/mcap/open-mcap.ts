/** Opens MCAP files of robots as datasets. The messages of selected topics are resampled to one rate. */
import { integer, onlyKeys } from "../../../base/error.ts";
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { nearestWord } from "../../../base/nearest-word.ts";
import { setPart } from "../../../schema/nest.ts";
import type { RldsStep, StepLeaf, StepSpec } from "../../model/dataset.ts";
import { finalStepSpec } from "../../model/final-step.ts";
import { RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { ABSENT } from "../columns/absent-fields.ts";
import { stepSpecOf, type TransitionSpec } from "../columns/transitions.ts";
import { decompressedSource } from "../compression/decompressed-source.ts";
import { addDamage, damageOf, withDamage } from "../damage.ts";
import { imageDecoder } from "../images/images.ts";
import { READ_OPTIONS, type ReadEpisode, type RldsReader } from "../reader.ts";
import { selectReader } from "../selection/select-reader.ts";
import { Selection } from "../selection/selection.ts";
import type { Source } from "../sources/open-source.ts";
import { type SourceFile, type SourceFolder, type SourceTarget, sortPaths } from "../sources/source.ts";
import { EpisodeSteps, type StepForm, TERMINALS } from "./episode-steps.ts";
import { valueAt } from "./field.ts";
import { leafOf, leafValue, timeOfMessage } from "./leaf-values.ts";
import { topicsOf } from "./listing.ts";
import { MessageTypes } from "./message-type.ts";
import { type McapMessage, type MessageOptions, messagesOf } from "./messages.ts";
import { type Mapping, MCAP_OPTIONS, type McapOptions, mappingOf, type TopicLeaf } from "./options.ts";
import { McapTopicsError, mappingText } from "./topics-error.ts";

/** A recording, which consists of files that were recorded one after the other and are read as one file. */
interface Recording {
  readonly name: string;
  readonly files: readonly (() => Promise<SourceFile>)[];
}

/**
 * Opens an MCAP file, or a folder of MCAP files. Supports JSON messages, and CDR messages of ROS 2 with schemas in ros2msg. Foxglove's libraries decode them.
 *
 * The option `topics` maps each leaf to a topic. If the option is missing, the error lists the topics. Each topic is resampled to `rate` steps per second. By
 * default, a step uses the last message at or before its time. Ticks begin at the first message of an episode. The steps of the episode begin at the first tick
 * for which every leaf has a message, and end with the last message.
 *
 * `timestamp` is the time since the first step, in seconds. The metadata contain `start_time`, the time of the first step in nanoseconds, and `file`, the name
 * of the file. The last step of an episode is a transition. The episode terminated if `terminated` or `done` is set in that step. Otherwise, it was truncated.
 * Messages of the types `sensor_msgs/CompressedImage` and `Image` become frames. Keeps one chunk and the values of an episode at its ticks in memory. Frames
 * remain compressed until they are read.
 * @throws McapTopicsError UNSUPPORTED if `topics` is missing
 * @throws RldsError NOT_FOUND if the file or folder does not exist
 * @throws RldsError CORRUPT if a file is damaged, or if a record exceeds maxBytes
 * @throws RldsError SPEC_MISMATCH if a topic has no messages, or if its messages differ in form
 * @throws RldsError INVALID_DATA if a topic has no message in an episode
 */
export async function openMcap<S = RldsStep>(from: Source, options: McapOptions = {}): Promise<RldsReader<S>> {
  const { salvage, maxBytes = MAX_SOURCE_BYTES, signal, fetch } = onlyKeys("options", options, `${MCAP_OPTIONS}, ${READ_OPTIONS}`);
  const selection = new Selection(options);
  const mapping = mappingOf(options);
  const losses = damageOf(salvage);
  integer("maxBytes", maxBytes, 1);
  const source = await decompressedSource(from, { signal, fetch, maxBytes, salvage });
  try {
    const recordings = await recordingsOf(source);
    const own: MessageOptions = { maxBytes, losses, ...(signal && { signal }) };
    if (mapping.leaves.length === 0)
      throw await withFile(recordings[0] as Recording, async (file) => new McapTopicsError(file.name, await topicsOf(file, own)));
    const form = { spec: await specOf(recordings, mapping, own), mapping, maxBytes, decode: await imageDecoder() };
    const { rate, sample, time } = mapping;
    const { name } = source.file ?? source.folder;
    const reader = {
      format: "mcap",
      name: name.slice(name.lastIndexOf("/") + 1).replace(/\.mcap$/i, ""),
      about: { fps: rate, sample, time },
      stepSpec: stepSpecOf(form.spec),
      metadataSpec: finalStepSpec({ file: { dtype: "string", shape: [] }, start_time: { dtype: "i64", shape: [] } }),
      close: async () => source.file?.close(),
      ...withDamage(losses),
      [Symbol.asyncIterator]: () => episodesOf(recordings, form, own),
    } as RldsReader<unknown> as RldsReader<S>;
    return await selectReader(reader, selection);
  } catch (error) {
    await source.file?.close();
    throw error;
  }
}

/** Returns the recordings in a source, in order. @throws RldsError UNSUPPORTED if the folder contains no MCAP files */
async function recordingsOf({ file, folder }: SourceTarget): Promise<Recording[]> {
  if (file !== undefined)
    return [{ name: file.name, files: [async () => ({ ...file, read: (at, length) => file.read(at, length), close: async () => undefined })] }];
  const paths = (await folder.list()) ?? [];
  const names = sortPaths(paths.filter((path) => /\.mcap$/i.test(path)));
  if (names.length === 0) throw unsupportedFile({ file: folder.name }, "the folder has no .mcap file. Pass the path of a file, or a folder that contains one");
  const recordings = new Map<string, string[]>();
  for (const path of names) {
    const parent = path.slice(0, path.lastIndexOf("/") + 1);
    // rosbag2 splits a large recording into several files and lists them in metadata.yaml.
    const key = paths.includes(`${parent}metadata.yaml`) ? parent : path;
    recordings.set(key, [...(recordings.get(key) ?? []), path]);
  }
  return [...recordings.values()].map((files) => ({ name: files[0] as string, files: files.map((path) => () => (folder as SourceFolder).open(path)) }));
}

async function withFile<T>({ files }: Recording, use: (file: SourceFile) => Promise<T>): Promise<T> {
  const file = await (files[0] as Recording["files"][number])();
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

interface TopicMessage {
  readonly file: string;
  readonly message: McapMessage;
  readonly types: MessageTypes;
}

/** Yields the messages of some topics from all files of a recording. */
async function* messagesIn({ files }: Recording, topics: ReadonlySet<string>, options: MessageOptions): AsyncGenerator<TopicMessage, void, undefined> {
  for (const open of files) {
    let file: SourceFile | undefined;
    try {
      file = await open();
      const types = new MessageTypes(file.name);
      for await (const message of messagesOf(file, options)) if (topics.has(message.channel.topic)) yield { file: file.name, message, types };
    } catch (error) {
      addDamage(options.losses, error);
    } finally {
      await file?.close();
    }
  }
}

/**
 * Infers the spec of a step from the first message of each topic. @throws RldsError SPEC_MISMATCH if a topic or field does not exist, or if a field that ends
 * episodes is not a single number
 */
async function specOf(recordings: readonly Recording[], { leaves, marker }: Mapping, options: MessageOptions): Promise<TransitionSpec> {
  const found = new Map<string, StepLeaf>();
  const missing = new Set([...leaves.map(({ topic }) => topic), ...(marker === undefined ? [] : [marker.topic])]);
  for (const recording of recordings) {
    for await (const { file, message, types } of messagesIn(recording, missing, options)) {
      const { topic } = message.channel;
      const { type, value } = await types.decode(message);
      for (const leaf of leaves) {
        if (leaf.topic !== topic) continue;
        const own = leafOf(leafValue(file, leaf, message, type, value));
        checkEnd(file, leaf, own, message);
        found.set(leaf.keys.join("/"), own);
      }
      if (marker?.topic === topic && marker.field !== undefined) markOf(file, message, value, marker.field);
      missing.delete(topic);
      if (missing.size === 0) break;
    }
    if (missing.size === 0) break;
  }
  const [topic] = missing;
  if (topic !== undefined)
    throw await withFile(recordings[0] as Recording, async (file) => {
      const topics = await topicsOf(file, options);
      const option = leaves.some((leaf) => leaf.topic === topic) ? "topics" : "episodesBy";
      const near = nearestWord(
        topic,
        topics.map((info) => info.topic),
      );
      const names = near === undefined ? "" : `. Did you mean ${near}?`;
      return new RldsError(
        "SPEC_MISMATCH",
        `the option ${option} refers to ${topic}, but the file has no message on that topic${names}${mappingText(topics, near !== undefined)}`,
        {
          file: file.name,
        },
      );
    });
  const spec: { [name: string]: StepSpec } = {};
  for (const { keys } of leaves) if (!TERMINALS.includes(keys[0] as string)) place(spec, keys, found.get(keys.join("/")) as StepLeaf);
  return { reward: ABSENT, timestamp: { dtype: "f64", shape: [] }, ...spec } as unknown as TransitionSpec;
}

/** Checks a leaf that ends episodes. @throws RldsError SPEC_MISMATCH if it is not a single number or boolean */
function checkEnd(file: string, { keys, topic }: TopicLeaf, { dtype, shape }: StepLeaf, { offset }: McapMessage): void {
  if (!TERMINALS.includes(keys[0] as string) || (dtype !== "string" && shape.length === 0)) return;
  const text = `${keys.join("/")} must be a single number or boolean, got ${dtype} of shape [${shape.join(", ")}] from ${topic}. In topics, name the field to read`;
  throw new RldsError("SPEC_MISMATCH", text, { file, offset });
}

function place(spec: { [name: string]: StepSpec }, keys: readonly string[], leaf: StepLeaf): void {
  let at = spec;
  for (const key of keys.slice(0, -1)) {
    if (!Object.hasOwn(at, key)) setPart(at, key, {});
    at = at[key] as { [name: string]: StepSpec };
  }
  setPart(at, keys.at(-1) as string, leaf);
}

async function* episodesOf(recordings: readonly Recording[], form: StepForm, options: MessageOptions): AsyncGenerator<ReadEpisode, void, undefined> {
  const { losses } = options;
  let number = 0;
  for (const recording of recordings)
    for await (const cut of cutsOf(recording, form, options, () => number)) {
      try {
        const ended = cut.end();
        if (ended === undefined) continue;
        const { start, ...steps } = ended;
        yield { file: cut.place.file as string, start_time: start, ...steps };
        number++;
      } catch (error) {
        if (losses === undefined) throw error;
        losses.add(error);
      }
    }
}

/** Yields each episode of a recording when it ends. @param number returns the number of the next episode */
async function* cutsOf(recording: Recording, form: StepForm, options: MessageOptions, number: () => number): AsyncGenerator<EpisodeSteps, void, undefined> {
  const { mapping } = form;
  const { leaves, gap, marker, time: clock } = mapping;
  const topics = new Set([...leaves.map(({ topic }) => topic), ...(marker === undefined ? [] : [marker.topic])]);
  let episode: EpisodeSteps | undefined;
  let mark: unknown;
  let isOpen = marker === undefined;
  const expected = new Map(leaves.map(({ keys }) => [keys.join("/"), leafAt(form.spec, keys)]));
  for await (const { file, message, types } of messagesIn(recording, topics, options)) {
    try {
      const { topic } = message.channel;
      const { type, value } = await types.decode(message);
      if (marker?.topic === topic) {
        const next = marker.field === undefined ? undefined : markOf(file, message, value, marker.field);
        if (marker.field === undefined || !Object.is(next, mark)) {
          if (episode !== undefined) yield episode;
          episode = undefined;
          isOpen = next !== false && next !== "";
        }
        mark = next;
      }
      const own = leaves.flatMap((leaf, i) => (leaf.topic === topic ? [{ leaf, i }] : []));
      if (!isOpen || own.length === 0) continue;
      const time = timeOfMessage(file, clock, message, value);
      if (gap !== undefined && episode !== undefined && Number(time - episode.latest) > gap) {
        yield episode;
        episode = undefined;
      }
      const values = own.map(({ leaf, i }) => ({ i, value: leafValue(file, leaf, message, type, value), path: leaf.keys.join("/") }));
      for (const { value: found, path } of values) {
        const leaf = expected.get(path);
        const [is, was] = [leafOf(found), leaf].map((leaf) => leaf && `${leaf.dtype} of shape [${leaf.shape.join(", ")}]`);
        if (leaf !== undefined && is !== was)
          throw new RldsError("SPEC_MISMATCH", `${path} is ${is} in a message of ${topic}, but was ${was} in the first message`, {
            file,
            offset: message.offset,
          });
      }
      episode ??= new EpisodeSteps(form, time, { file, episode: number() });
      for (const { i, value: found } of values) episode.add(i, time, found);
    } catch (error) {
      addDamage(options.losses, error);
    }
  }
  if (episode !== undefined) yield episode;
}

function leafAt(spec: StepSpec, keys: readonly string[]): StepLeaf | undefined {
  let at: unknown = spec;
  for (const key of keys) at = (at as { readonly [name: string]: unknown } | undefined)?.[key];
  return at as StepLeaf | undefined;
}

/** Returns the value whose changes begin episodes. @throws RldsError SPEC_MISMATCH if the field is missing or not a single value */
function markOf(file: string, { channel, offset }: McapMessage, value: unknown, field: string): unknown {
  let mark: unknown;
  try {
    mark = valueAt(value, field);
  } catch (cause) {
    throw new RldsError("SPEC_MISMATCH", `episodesBy cannot be read from ${channel.topic}: ${(cause as Error).message}`, { file, offset }, { cause });
  }
  if (typeof mark !== "object") return mark;
  throw new RldsError("SPEC_MISMATCH", `episodesBy.field must be the path of a number, boolean or string in ${channel.topic}, got ${field}`, { file, offset });
}
