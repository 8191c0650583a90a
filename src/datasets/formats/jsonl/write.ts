/** Writes an RLDS dataset as JSON lines. */
import { flag, onlyKeys } from "../../../base/error.ts";
import { readChunks } from "../../model/chunks.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsDataset, StepSpec } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { mustBeAbout } from "../about.ts";
import { addFilmLosses } from "../film-references.ts";
import { Losses } from "../sinks/losses.ts";
import { checkAlone } from "../sinks/single-file.ts";
import { type Sink, sinkOf } from "../sinks/sink.ts";
import type { SinkFolder } from "../sinks/sink-folder.ts";
import { Staging } from "../sinks/staging.ts";
import { type WriteOptions, type WriteReport, withSchema } from "../sinks/writer.ts";
import { jsonRow } from "./json-values.ts";

const LINE_ENDINGS = [".jsonl", ".ndjson"];
const ENDINGS = [...LINE_ENDINGS, ".json"];
const CHUNK_STEPS = 1024;

/**
 * Writes a file of JSON lines. The first line is an object `{"rlds": 1, "stepSpec", "metadataSpec"}`, with `about` if it is set. Each episode follows as a line
 * `{"episode": {metadata}}` and a line `{"step": {…}}` per step.
 *
 * NaN, infinities and -0 are written as the strings "NaN", "Infinity", "-Infinity" and "-0". Integers whose magnitude is 2^53 or more are decimal strings, and
 * bytes are base64. If the path does not end with .jsonl, .ndjson or .json, it is a folder, and the file is steps.jsonl. The file receives its final name when
 * it is complete. About a thousand steps are in memory at a time.
 * @throws RldsError SPEC_MISMATCH if a step does not match the spec. The error includes the episode, the step and the leaf
 * @throws RldsError EMPTY if the dataset has neither a spec nor a step from which to infer it
 * @throws RldsError IO if the target cannot be written or already exists
 */
export async function writeJsonl(rlds: RldsDataset<unknown>, to: Sink, options: WriteOptions = {}): Promise<WriteReport> {
  const { overwrite = false, strict = false, about, signal, onProgress } = onlyKeys("options", options, "overwrite, about, strict, signal, onProgress");
  flag("overwrite", overwrite);
  flag("strict", strict);
  const { folder, file } = await sinkOf(to, ENDINGS);
  const name = file ?? "steps.jsonl";
  return Staging.run(folder, "", name, async (staging) => {
    if (file === undefined) checkAlone(await staging.list(), folder.name, { endings: LINE_ENDINGS, name });
    return writeDataset(staging, rlds, { folder, name, overwrite, strict, signal, onProgress, ...(about !== undefined && { about: mustBeAbout(about) }) });
  });
}

interface Lines extends WriteOptions {
  readonly folder: SinkFolder;
  readonly name: string;
}

async function writeDataset(
  staging: Staging,
  rlds: RldsDataset<unknown>,
  { folder, name, overwrite, about, strict, signal, onProgress }: Lines,
): Promise<WriteReport> {
  const existing = (await staging.list()).filter((path) => path === name);
  if (existing.length > 0 && !overwrite)
    throw new RldsError("IO", "the file already exists. Pass overwrite: true to replace it", { file: `${folder.name}/${name}` });
  const { stepSpec, metadataSpec, episodes, close } = await withSchema(rlds, signal);
  try {
    const losses = new Losses();
    addFilmLosses(losses, stepSpec);
    losses.check(strict);
    const file = await staging.create();
    const encoder = new TextEncoder();
    const write = (line: object) => file.write(encoder.encode(`${JSON.stringify(line)}\n`));
    await write({ rlds: 1, stepSpec, metadataSpec, ...(about !== undefined && { about }) });
    let [count, steps] = [0, 0];
    for await (const { steps: episodeSteps, ...metadata } of episodes) {
      losses.addSplits(metadata);
      const collector = new Collector(metadataSpec as StepSpec, 1);
      collector.add(metadata, { episode: count }, "the episode's metadata");
      await write({ episode: jsonRow(metadataSpec as StepSpec, collector.take().data, 0) });
      for await (const { data, length } of readChunks(episodeSteps, stepSpec, { episode: count, max: CHUNK_STEPS, signal })) {
        for (let i = 0; i < length; i++) await write({ step: jsonRow(stepSpec, data, i) });
        steps += length;
      }
      count++;
      onProgress?.({ episodes: count, steps, bytes: file.bytes });
    }
    losses.check(strict);
    signal?.throwIfAborted();
    const files = await staging.commit([name], existing);
    return { episodes: count, steps, bytes: file.bytes, files, repeated: 0, losses: losses.all };
  } finally {
    await close();
  }
}
