/** Validates answers that arrive over a port, so that panels and plots can rely on them. */
import { COUNTERS } from "../base/abi.ts";
import { fieldsOf, isCount, isFlag, isNumber, isText, listOf, maybe, type Validator } from "../remote/validators.ts";
import { LIMITER_OPTIONS } from "../schema/rate-limiter.ts";
import type { Kind } from "./protocol.ts";

/** Accepts any typed array, or an array of numbers. */
const isNumbers: Validator = (value) => (ArrayBuffer.isView(value) && !(value instanceof DataView)) || listOf(isNumber)(value);
const isData: Validator = (value) => isNumbers(value) || listOf((element) => isText(element) || typeof element === "bigint")(value);

const leaf = { path: isText, dtype: isText, shape: listOf(isCount) };
const isSelector = fieldsOf({ kind: isText });
const isTable = fieldsOf({
  name: isText,
  maxSize: isNumber,
  maxSteps: isNumber,
  maxTimesSampled: isNumber,
  sampler: isSelector,
  remover: isSelector,
  rateLimiter: fieldsOf(Object.fromEntries(LIMITER_OPTIONS.map((option) => [option, isNumber]))),
});
const isSample = fieldsOf({
  isWhole: isFlag,
  keys: isNumbers,
  priorities: isNumbers,
  probabilities: isNumbers,
  timesSampled: isNumbers,
  lengths: isNumbers,
  ages: isNumbers,
  episodeAges: isNumbers,
});
const isEpisode = fieldsOf({ number: isNumber, return: isNumber, length: isNumber, end: isText });
const isTableSurvey = fieldsOf({ name: isText, sample: isSample, total: isNumber, episodes: listOf(isEpisode), hasEpisodes: isFlag });
const item = {
  key: isNumber,
  state: isText,
  length: isNumber,
  priority: isNumber,
  weight: isNumber,
  probability: isNumber,
  timesSampled: isNumber,
  age: isNumber,
  episode: isNumber,
  episodeAge: isNumber,
};
const isLeaves = listOf(fieldsOf({ ...leaf, data: maybe(isData), steps: isCount }));

const VALIDATORS: { readonly [K in Kind]: Validator } = {
  about: fieldsOf({ leaves: listOf(fieldsOf(leaf)), tables: listOf(isTable), maxBytes: isNumber, reward: maybe(isText) }),
  survey: fieldsOf({
    steps: isNumber,
    bytes: isNumber,
    packed: listOf(fieldsOf({ name: isText, bytes: isNumber, rawBytes: isNumber })),
    writers: isNumber,
    tables: listOf(fieldsOf({ name: isText, ...Object.fromEntries(COUNTERS.map((name) => [name, isNumber])), canSample: isFlag, canInsert: isFlag })),
    table: maybe(isTableSurvey),
  }),
  draw: fieldsOf({
    table: isText,
    items: listOf(fieldsOf({ ...item, leaves: maybe(isLeaves) })),
    blocked: maybe(fieldsOf({ by: isText, have: isNumber, need: isNumber })),
  }),
  item: fieldsOf({ ...item, table: isText, leaves: isLeaves }),
};

/** Returns whether a value is an answer to a question of this kind. */
export function isAnswer(kind: Kind, answer: unknown): boolean {
  return VALIDATORS[kind](answer);
}
