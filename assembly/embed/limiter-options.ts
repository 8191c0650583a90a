/** Defines the options of a rate limiter in texts and snapshots, in the order of LIMITER_OPTIONS (tables/rate-limiter.ts). */
import { LIMITER_NUMBERS, LimiterOptions } from "../tables/rate-limiter";
import { MAX_WHOLE } from "./decimal";
import { OBJECT, Put, Tags } from "./tags";
import { TextReader } from "./text-reader";

/** The result for a word that is not an option of a limiter. */
export const NO_OPTION: i32 = 1;

/** Returns the word for an option. */
function limiterName(i: u32): string {
  switch (i) {
    case 0:
      return "samplesPerInsert";
    case 1:
      return "minSize";
    case 2:
      return "minDiff";
    case 3:
      return "maxDiff";
    default:
      return unreachable();
  }
}

/** Returns the default of an option, which limits nothing. */
function limiterDefault(i: u32): f64 {
  switch (i) {
    case 0:
    case 1:
      return 1;
    case 2:
      return -f64.MAX_VALUE;
    case 3:
      return f64.MAX_VALUE;
    default:
      return unreachable();
  }
}

/** Returns the least value of an option; f64.MIN_VALUE if the option must be above 0. */
function limiterLeast(i: u32): f64 {
  switch (i) {
    case 0:
      return f64.MIN_VALUE;
    case 1:
      return 1;
    case 2:
    case 3:
      return -f64.MAX_VALUE;
    default:
      return unreachable();
  }
}

/** Whether an option is a whole number. */
function isWhole(i: u32): bool {
  return i == 1;
}

function at(limiter: LimiterOptions, i: u32): usize {
  return changetype<usize>(limiter) + ((<usize>i) << 3);
}

/** Sets the defaults of all options, with which a limiter limits nothing. */
export function beginLimiter(limiter: LimiterOptions): void {
  for (let i: u32 = 0; i < LIMITER_NUMBERS; i++) store<f64>(at(limiter, i), limiterDefault(i));
}

/** Reads the value of the option whose word was just read. Returns 0, NO_OPTION, or INVALID. */
export function readLimiter(words: TextReader, limiter: LimiterOptions): i32 {
  for (let i: u32 = 0; i < LIMITER_NUMBERS; i++) {
    if (!words.is(limiterName(i))) continue;
    const name = limiterName(i);
    const code = isWhole(i) ? words.integer(name, limiterLeast(i), MAX_WHOLE) : words.number(name, limiterLeast(i), f64.MAX_VALUE);
    if (code == 0) store<f64>(at(limiter, i), words.value);
    return code;
  }
  return NO_OPTION;
}

/** Reads the options from a snapshot. Unknown options and invalid values break the tags. */
export function loadLimiter(tags: Tags, limiter: LimiterOptions): void {
  for (let left = tags.enter(OBJECT); left > 0 && tags.broken == 0; left--) {
    tags.text();
    let i: u32 = 0;
    while (i < LIMITER_NUMBERS && !tags.is(limiterName(i))) i++;
    if (i == LIMITER_NUMBERS) tags.broken = 1;
    else store<f64>(at(limiter, i), isWhole(i) ? tags.whole(limiterLeast(i), MAX_WHOLE) : tags.within(limiterLeast(i), f64.MAX_VALUE));
  }
}

export function putLimiter(put: Put, limiter: LimiterOptions): void {
  put.object(LIMITER_NUMBERS);
  for (let i: u32 = 0; i < LIMITER_NUMBERS; i++) put.text(limiterName(i)).number(load<f64>(at(limiter, i)));
}
