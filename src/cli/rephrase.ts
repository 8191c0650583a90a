/** Rephrases messages of the package for the command line, whose users have no options object. */

/** Phrases of the package, and their replacements. */
const PHRASES: readonly (readonly [original: string, replacement: string])[] = [
  ["overwrite: true", "--overwrite"],
  ["takeOver: true", "--take-over"],
  ["set maxTextBytes", "set --max-text-bytes"],
  ["maxSequenceLength", "--max-length"],
  ["leave it out, or make numbers of it, with mapSteps", "leave it out with --without"],
  ["leave it out with mapSteps", "leave it out with --without"],
  ["mapEpisodes can leave it out", "no option leaves it out"],
  [": convert it with mapSteps(data, change, { stepSpec })", ": another journal can hold it"],
  ['import it with mode "repair" or "drop"', "give --mode repair or --mode drop"],
  ["maxBytes", "--open maxBytes=BYTES"],
  ["finalObservation", "--open finalObservation=…"],
  ["give maxEpisodeSteps", "give --open maxEpisodeSteps=STEPS"],
  ["columns: {", "--open columns={"],
  ["describe it in stepSpec", "describe it by --open stepSpec={…}"],
  ["images must be", "--image must name"],
  ["shards and shardBytes exclude each other", "--shards excludes shardBytes"],
];

/** Names in a list of options stand as `--open` takes them. */
const LIST = "; its options are ";

export function rephrase(message: string): string {
  const [text = "", ...options] = message.split(LIST);
  return [PHRASES.reduce((phrase, [original, replacement]) => phrase.replaceAll(original, replacement), text), ...options].join(LIST);
}
