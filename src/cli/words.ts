/** Messages of the package in the words of the command line: whoever reads them has no options object. */

/** What the package says, and what is given here instead. */
const WORDS: readonly (readonly [said: string, here: string])[] = [
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

export function inWordsHere(message: string): string {
  const [text = "", ...options] = message.split(LIST);
  return [WORDS.reduce((words, [said, here]) => words.replaceAll(said, here), text), ...options].join(LIST);
}
