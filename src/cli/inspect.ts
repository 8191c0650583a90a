/** `reprise inspect`: shows the format of a dataset, the lengths and returns of its episodes, and its faults. */
import type { Command } from "commander";
import { inspectRlds, McapTopicsError, type ReadEpisode, type RldsReader, statistics } from "../datasets/rlds/index.ts";
import { addOpen, addSalvage, lossesText, type OpenOptions, reportText, SOURCES, withDataset, withYields } from "./dataset.ts";
import { type Histogram, histogramOf, histogramText } from "./histogram.ts";
import { leavesIn, specText, statisticsText } from "./leaf-tables.ts";
import type { Host, Result } from "./result.ts";
import { remedyText } from "./targets.ts";
import { countText, escapeText, table as tableText } from "./text.ts";

const EXAMPLES = `
Examples:
  $ npx reprise inspect tensorflow_datasets/half_cheetah
  $ npx reprise inspect https://example.org/data/half_cheetah/1.0.0/ --split "train[:10]" --stats
  $ npx reprise inspect episodes.parquet --json
  $ npx reprise inspect runs/a
  $ npx reprise inspect robot.mcap
  $ npx reprise inspect robot.mcap --topics topics.json --rate 20
`;

export function addInspect(command: Command): Command {
  return addOpen(addSalvage(command))
    .addHelpText("before", "  $ npx reprise inspect tensorflow_datasets/half_cheetah\n")
    .description("Shows the format and the spec of a dataset, the lengths and returns of its episodes, and its faults.")
    .argument("<path|url>", `a file or folder: ${SOURCES}`)
    .option("--split <split>", "the split to read")
    .option("--stats", "also show the minimum, maximum, mean and standard deviation of every leaf; reads the data twice")
    .addHelpText("after", EXAMPLES);
}

export interface InspectOptions extends OpenOptions {
  readonly stats?: true;
}

/** Inspects a dataset. If an MCAP file is read without a mapping of topics to leaves, it has no steps yet, so the result lists its topics instead. */
export async function inspect(path: string, options: InspectOptions, host: Host): Promise<Result> {
  try {
    return await inspectSteps(path, options, host);
  } catch (error) {
    if (error instanceof McapTopicsError) return topicsResult(path, error);
    throw error;
  }
}

function topicsResult(path: string, { topics, remedy }: McapTopicsError): Result {
  const rows = topics.map(({ topic, schema, encoding, messages, rate }) => [topic, schema, encoding, String(messages), `${rate} Hz`].map(escapeText));
  const text = `${escapeText(path)} (mcap): ${countText(topics.length, "topic")}\n${tableText([["topic", "schema", "encoding", "messages", "rate"], ...rows])}\n${escapeText(remedy)}\n`;
  return { value: { format: "mcap", topics, remedy }, text };
}

function inspectSteps(path: string, { stats, ...options }: InspectOptions, host: Host): Promise<Result> {
  return withDataset(path, options, host, async (reader) => {
    const progress = host.progress("reading");
    const collector = new EpisodeCollector();
    const episodes = collector.collect(reader, host, (episodes) => progress.at(episodes, reader.episodes));
    const { stepSpec, metadataSpec } = reader;
    const report = await inspectRlds({ stepSpec, metadataSpec, [Symbol.asyncIterator]: () => episodes }, { signal: host.signal });
    const leaves = stats && (await statistics(reader, { signal: host.signal })).leaves;
    progress.end();
    const { format, name, splits, about } = reader;
    const [lengths, returns] = collector.histograms();
    const value = {
      format,
      name,
      split: reader.split,
      splits,
      episodes: report.episodes,
      steps: report.steps,
      transitions: report.transitions,
      stepSpec,
      metadataSpec,
      lengths,
      returns,
      report,
      statistics: leaves,
      losses: reader.losses,
      unread: reader.unread,
      about,
    };
    return {
      value,
      text: [
        headOf(reader, report),
        specsText(reader),
        spreadText(lengths, returns),
        faultsText(report),
        unreadText(reader),
        lossesText(reader.losses),
        leaves && statisticsText(leaves),
      ]
        .filter(Boolean)
        .join("\n"),
    };
  });
}

/** Collects the lengths and returns of episodes while another consumer reads the episodes. */
class EpisodeCollector {
  readonly #lengths: number[] = [];
  readonly #returns: number[] = [];

  async *collect(reader: RldsReader, { signal }: Host, onEpisode: (episodes: number) => void): ReturnType<typeof withYields<never>> {
    for await (const episode of withYields(reader, signal)) {
      this.#lengths.push(episode.steps.length);
      const sum = returnOf(episode);
      if (sum !== undefined) this.#returns.push(sum);
      onEpisode(this.#lengths.length);
      yield episode as never;
    }
  }

  histograms(): [Histogram | undefined, Histogram | undefined] {
    return [histogramOf(this.#lengths), histogramOf(this.#returns)];
  }
}

/**
 * Returns the sum of the rewards of an episode, without the reward of a final observation. Returns undefined if the steps lack rewards or `is_last`, or if a
 * reward is not a single number.
 */
function returnOf({ steps, final_step }: ReadEpisode): number | undefined {
  const { reward, is_last } = steps.columns as { readonly [field: string]: { readonly data?: ArrayLike<number | bigint> } | undefined };
  if (reward?.data?.length !== steps.length || is_last?.data?.length !== steps.length) return undefined;
  let sum = 0;
  for (let i = 0; i < steps.length; i++) if (!is_last.data[i] || final_step === "transition") sum += Number(reward.data[i]);
  return sum;
}

function headOf({ name, format, split, splits }: RldsReader, { episodes, steps }: { readonly episodes: number; readonly steps: number }): string {
  const splitText = split === undefined ? "" : `, split ${split}${splits !== undefined && splits.length > 1 ? ` of ${splits.join(", ")}` : ""}`;
  return `${escapeText(`${name} (${format}${splitText})`)}: ${countText(episodes, "episode")}, ${countText(steps, "step")}\n`;
}

function specsText({ stepSpec, metadataSpec }: RldsReader): string {
  const metadata = leavesIn(metadataSpec).length === 0 ? "" : `\nEach episode:\n${specText(metadataSpec)}`;
  return `Each step:\n${specText(stepSpec)}${metadata}`;
}

/** Returns one line per part of the data that the reader does not read. Each line states the reason, or the option that reads the part. */
function unreadText({ unread = [] }: RldsReader): string {
  return unread.map(({ what, remedy }) => `Not read: ${escapeText(what)}; ${remedyText(remedy)}\n`).join("");
}

function spreadText(lengths: Histogram | undefined, returns: Histogram | undefined): string {
  return [histogramText("Steps per episode", lengths), histogramText("Return per episode", returns)].filter(Boolean).join("\n");
}

function faultsText(report: Parameters<typeof reportText>[0]): string {
  const faults = reportText(report);
  const zeros = report.zeroFinalObservations.count;
  const note = zeros === 0 ? "" : `  ${countText(zeros, "episode")} with a final observation of zeros, which was probably not recorded\n`;
  return faults === "" ? `No faults.\n${note}` : `Faults in ${countText(report.faultyEpisodes, "episode")}:\n${faults}${note}`;
}
