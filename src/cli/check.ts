/** `reprise check`: lists the faults of a dataset, one line each. */
import type { Command } from "commander";
import { didYouMean } from "../base/error.ts";
import { type CheckFinding, type CheckFindings, type CheckReport, checkRlds, type RldsReader } from "../datasets/rlds/index.ts";
import { notNegative, positive, repeatable, wholeNumber } from "./arguments.ts";
import { addOpen, addSalvage, type OpenOptions, SOURCES, withDataset, withYields } from "./dataset.ts";
import { rephrase, UsageError, WRONG_DATA } from "./exit.ts";
import { CHECK_FAULTS, CHECK_WARNINGS } from "./program-parts.ts";
import type { Host, Result } from "./result.ts";
import { countText, escapeText } from "./text.ts";

const FIRST_EXAMPLE = "  $ npx reprise check lerobot/pick_cube --without observation/image\n";

/** The names of all faults and warnings, as in the output of `--json`. */
const KINDS: readonly string[] = [...CHECK_FAULTS, ...CHECK_WARNINGS];
/** The value of `--ignore` that omits all warnings. */
const WARNINGS = "warnings";

const EXAMPLES = `
Examples:
  $ npx reprise check lerobot/pick_cube
  $ npx reprise check demonstrations.hdf5 --mode salvage --json
  $ npx reprise check runs/a --without observation/image --min-steps 10 --ignore constantRewards --ignore constantDimensions

Faults: episodes that are empty, do not end, or begin or end in the middle; is_terminal without is_last; NaN and infinities; steps that do not match the spec;
timestamps that repeat or decrease; films that are missing or have fewer frames than steps; parts that cannot be read.
Warnings: uneven timestamps, elements of observations and actions that never change, a reward that never changes, very short episodes, films with more frames than steps,
final observations of zeros.

The exit code is 1 if any line is printed for a fault or a warning. --ignore omits a kind, by its name in --json: ${KINDS.join(", ")};
or warnings, which omits all warnings.
convert --mode repair fixes the faults of episodes and their steps.
`;

export function addCheck(command: Command): Command {
  return addOpen(addSalvage(command))
    .description("Lists the faults of a dataset, one per line, with the episode and the step. Reads the dataset once.")
    .addHelpText("before", FIRST_EXAMPLE)
    .argument("<path|url>", `a file or folder: ${SOURCES}`)
    .option("--split <split>", "the split to read")
    .option("--ignore <kind>", "a kind of finding to leave out, such as constantRewards, or warnings for all warnings; may be repeated", repeatable)
    .option("--timestamp <leaf>", "the leaf with the time of each step (default: timestamp or observation/timestamp)")
    .option("--fps <n>", "steps per second, for timestamps in seconds (default: as the data states, otherwise the median of each episode)", positive)
    .option(
      "--max-jitter <share>",
      "the largest share by which an interval between timestamps may differ from the expected interval (default: 0.1)",
      notNegative,
    )
    .option("--min-steps <n>", "report an episode with fewer transitions as very short (default: 2)", wholeNumber(0))
    .option("--min-share <share>", "report an episode with fewer transitions than this share of the median as very short (default: 0.1)", notNegative)
    .option("--places <n>", "the number of places to list per kind; all are counted (default: 8)", wholeNumber(1))
    .addHelpText("after", EXAMPLES);
}

export interface CheckCommandOptions extends OpenOptions {
  readonly ignore?: readonly string[];
  readonly timestamp?: string;
  readonly fps?: number;
  readonly maxJitter?: number;
  readonly minSteps?: number;
  readonly minShare?: number;
  readonly places?: number;
}

export function check(path: string, options: CheckCommandOptions, host: Host): Promise<Result> {
  const { ignore = [], timestamp, fps, maxJitter, minSteps, minShare, places, ...open } = options;
  const unknown = ignore.find((kind) => kind !== WARNINGS && !KINDS.includes(kind));
  if (unknown !== undefined)
    throw new UsageError(
      `--ignore must be ${WARNINGS}, or one of ${KINDS.join(", ")}, got ${JSON.stringify(unknown)}.${didYouMean(unknown, [WARNINGS, ...KINDS])}`,
    );
  return withDataset(path, open, host, async (reader) => {
    const progress = host.progress("checking");
    const report = await checkRlds(withPauses(reader, host), {
      signal: host.signal,
      onProgress: ({ episodes }) => progress.at(episodes, reader.episodes),
      ...(timestamp !== undefined && { timestamp }),
      ...(fps !== undefined && { fps }),
      ...(maxJitter !== undefined && { maxJitter }),
      ...(minSteps !== undefined && { minSteps }),
      ...(minShare !== undefined && { minShare }),
      ...(places !== undefined && { maxPlaces: places }),
    }).finally(() => progress.end());
    const { format, name, split } = reader;
    const { episodes, steps, transitions, complete } = report;
    const faults = listed(report.faults, ignore);
    const warnings = ignore.includes(WARNINGS) ? {} : listed(report.warnings, ignore);
    const clean = Object.keys(faults).length === 0;
    return {
      value: { format, name, split, episodes, steps, transitions, complete, clean, faults, warnings },
      text: textOf(report, faults, warnings),
      exitCode: clean && Object.keys(warnings).length === 0 ? 0 : WRONG_DATA,
    };
  });
}

/** Returns the same reader, except that Ctrl-C can stop its iteration between two episodes. */
function withPauses(reader: RldsReader, { signal }: Host): RldsReader {
  return new Proxy(reader, {
    get: (target, key) => (key === Symbol.asyncIterator ? () => withYields(target, signal) : Reflect.get(target, key, target)),
  });
}

interface Kinds {
  readonly [kind: string]: CheckFindings;
}

/** Returns the findings of the kinds that are not ignored and have findings. Their texts name flags of the command line instead of options. */
function listed(kinds: Kinds, ignore: readonly string[]): Kinds {
  const found = Object.entries(kinds).filter(([kind, { count }]) => count > 0 && !ignore.includes(kind));
  return Object.fromEntries(found.map(([kind, findings]) => [kind, { ...findings, places: findings.places.map(inWords) }]));
}

function inWords(finding: CheckFinding): CheckFinding {
  return { ...finding, text: rephrase(finding.text) };
}

/** Returns one line per listed finding and a line with the totals. If a kind has more findings than are listed, an additional line states how many more. */
function textOf({ episodes, steps, complete }: CheckReport, faults: Kinds, warnings: Kinds): string {
  const lines = [...linesOf("fault", faults), ...linesOf("warning", warnings)];
  const total = (kinds: Kinds) => Object.values(kinds).reduce((sum, { count }) => sum + count, 0);
  const read = `${countText(episodes, "episode")}, ${countText(steps, "step")}${complete ? "" : ", and then data that cannot be read"}`;
  return `${lines.join("")}${read}: ${countText(total(faults), "fault")}, ${countText(total(warnings), "warning")}\n`;
}

function linesOf(level: string, kinds: Kinds): string[] {
  return Object.values(kinds).flatMap(({ count, places }) => {
    const listed = places.map((finding) => `${level}: ${placeText(finding)}${escapeText(finding.text)}\n`);
    return count > places.length ? [...listed, `${level}: … and ${countText(count - places.length, "more", "more")} like these\n`] : listed;
  });
}

/** Returns the place of a finding, such as `episode 3, step 17: `, or an empty text if the finding has no place. */
function placeText({ episode, step }: CheckFinding): string {
  const parts = [episode === undefined ? "" : `episode ${episode}`, step === undefined ? "" : `step ${step}`].filter((part) => part !== "");
  return parts.length === 0 ? "" : `${parts.join(", ")}: `;
}
