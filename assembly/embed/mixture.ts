/**
 * Implements mixtures of views of transitions: their lines in the text, and the state that a host reads and sets.
 *
 * SOURCE, 16 bytes: │ view u32 │ width u32 │ share f64 │  rows of the longest transition in the current batch · the share as set in the text
 *
 * A mixture has the number of a view. Its MIXTURE (draw/mixture.ts) is stored twice: its current state, and its state after the batch that is being drawn.
 * Before these two states is the number of sources. A host sees STATE, without the rows.
 *
 * STATE: │ sources u32 │ … u32 × 3 │ RANDOM (32) │ share f64 … │ carry f64 … │
 */
import { Mixture, mixture_seed } from "../draw/mixture";
import { arena_alloc } from "../memory/arena";
import { U8 } from "../rows/leaf";
import { wholeOf } from "./decimal";
import { CLOSED, INVALID, NOT_FOUND, noRoom, Refusal, SPEC_MISMATCH } from "./refusal";
import { opened, outside, Root } from "./root";
import { TextReader } from "./text-reader";
import { isText } from "./utf8";
import { FALLBACK, MIXTURE, RANDOM, TRANSITIONS, VIEW_BYTES, View, viewOf } from "./view";
import { addColumn, FIRST, MIXED, SOURCE, ViewColumn } from "./view-columns";

const HEAD_BYTES: usize = 16;
const RANDOM_BYTES: usize = 32;
/** The maximum number of rows that rounding can withhold from a source. */
const MAX_CARRY: f64 = 4294967296;
/** The maximum number of sources. In batches, the number of a source is a byte. */
const MAX_SOURCES: u32 = 256;

@unmanaged
export class Source {
  view: u32;
  width: u32;
  share: f64;

  /** Returns the i-th source of a mixture. */
  static of(mixture: View, i: u32): Source {
    return changetype<Source>(
      Root.the()
        .sources()
        .get(mixture.nexts + i),
    );
  }
}
const SOURCE_BYTES: u32 = 16;
if (offsetof<Source>() != SOURCE_BYTES) ERROR("SOURCE is 16 bytes");

/** Reads the line `mixture source VIEW SHARE … [random] [fallback] [seed N]`. */
export function readMixture(words: TextReader): i32 {
  const number = Root.the().views().count;
  const at = words.entry(Root.the().views(), VIEW_BYTES, "views");
  if (at == 0) return Refusal.last();
  const mixture = changetype<View>(at);
  mixture.kind = MIXTURE;
  mixture.nexts = Root.the().sources().count;
  while (words.next()) {
    const code = readOption(words, mixture, number);
    if (code != 0) return code;
  }
  if (mixture.nextCount == 0) return words.here(INVALID).put("a mixture needs a source, such as source 0 1").code;
  if (mixture.nextCount > MAX_SOURCES) return words.here(INVALID).put("a mixture must have at most ").number(MAX_SOURCES).put(" sources").code;
  let sum: f64 = 0;
  for (let i: u32 = 0; i < mixture.nextCount; i++) sum += Source.of(mixture, i).share;
  return sum > 0 && sum < Infinity ? 0 : words.here(INVALID).put("the sum of the shares must be finite and above 0").code;
}

function readOption(words: TextReader, mixture: View, number: u32): i32 {
  if (words.is("random")) mixture.flags |= RANDOM;
  else if (words.is("fallback")) mixture.flags |= FALLBACK;
  else if (words.is("seed")) {
    if (words.want("the seed of a mixture") != 0) return INVALID;
    if (!wholeOf(words.word, words.bytes, changetype<usize>(mixture) + offsetof<View>("gamma")))
      return words.refused("the seed of a mixture", "a whole number below 2^64");
  } else if (words.is("source")) {
    const at = words.entry(Root.the().sources(), SOURCE_BYTES, "sources");
    if (at == 0) return Refusal.last();
    const source = changetype<Source>(at);
    mixture.nextCount += 1;
    let code = words.integer("the view of a source", 0, <f64>number - 1);
    source.view = <u32>words.value;
    if (code == 0) code = words.number("the share of a source", 0, f64.MAX_VALUE);
    source.share = words.value;
    return code;
  } else return words.unknown("source, random, fallback or seed");
  return 0;
}

/** Sets up the columns and states of mixtures, after the columns of all views are known. Returns 0, or the code of a refusal. */
export function settleMixtures(): i32 {
  const views = Root.the().views();
  for (let i: u32 = 0; i < views.count; i++) {
    const code = View.of(i).kind == MIXTURE ? settle(View.of(i)) : 0;
    if (code != 0) return code;
  }
  return 0;
}

function settle(mixture: View): i32 {
  const k = mixture.nextCount;
  const first = View.of(Source.of(mixture, 0).view);
  for (let i: u32 = 0; i < k; i++) {
    const code = checkSource(first, Source.of(mixture, i).view);
    if (code != 0) return code;
  }
  const bytes = Mixture.bytes(k);
  const head = arena_alloc(<u32>HEAD_BYTES + 2 * bytes);
  if (head == 0) return noRoom();
  memory.fill(head, 0, HEAD_BYTES + 2 * bytes);
  store<u32>(head, k);
  const at = head + <u32>HEAD_BYTES;
  const m = changetype<Mixture>(<usize>at);
  const seed = reinterpret<u64>(mixture.gamma);
  mixture_seed(at, <u32>seed, <u32>(seed >> 32));
  for (let i: u32 = 0; i < k; i++) store<f64>(m.share(i), Source.of(mixture, i).share);
  mixture.mixture = at;
  mixture.weighs = first.weighs;
  mixture.double = first.double;
  return settleColumns(mixture, first);
}

/** Sets the columns of a mixture: the columns of its first source, with a column for the number of the source before the keys. */
function settleColumns(mixture: View, first: View): i32 {
  mixture.columns = Root.the().columns().count;
  for (let k: u32 = 0; k < first.count; k++) {
    if (k == first.count - 1 && !addColumn(SOURCE, 0, 0, MIXED, 0, U8)) return noRoom();
    const c = ViewColumn.of(first, k);
    const which = c.which;
    if (c.source == FIRST && c.bytes == 6 && isText(c.rest, 6, "source"))
      return Refusal.of(SPEC_MISMATCH).put("the leaf source has the same name as a column of mixtures. Rename the leaf").code;
    if (!addColumn(c.head, c.rest, c.bytes, c.source, which, c.dtype)) return noRoom();
  }
  mixture.count = Root.the().columns().count - mixture.columns;
  return 0;
}

/** Checks that the sources show the same columns. Returns 0 or SPEC_MISMATCH. */
function checkSource(first: View, number: u32): i32 {
  const view = View.of(number);
  if (view.kind != TRANSITIONS)
    return Refusal.of(SPEC_MISMATCH).put("the sources of a mixture must be views of transitions, but view ").number(number).put(" is not").code;
  let same = view.count == first.count && view.weighs == first.weighs;
  for (let k: u32 = 0; same && k < view.count; k++) {
    const a = ViewColumn.of(first, k);
    const b = ViewColumn.of(view, k);
    same = a.head == b.head && a.source == b.source && a.which == b.which && a.dtype == b.dtype;
  }
  if (same) return 0;
  return Refusal.of(SPEC_MISMATCH)
    .put("the sources of a mixture must have the same columns and the same weights, but view ")
    .number(number)
    .put(" differs from the first source").code;
}

/** Returns the mixture of a number that a call names; null, with a refusal, if it does not exist. */
export function mixtureOf(view: u32): View | null {
  const v = viewOf(view);
  if (v === null) return null;
  if (v.kind == MIXTURE) return v;
  Refusal.of(NOT_FOUND).put("view must be the number of a mixture in the text, got ").number(view);
  return null;
}

/**
 * Returns STATE of a mixture: its random state (u32 × 8), the share of each source, and the amount that rounding has withheld from each source. The result is
 * valid until the next draw. Returns 0 if the call is refused.
 */
export function replay_mixture(handle: u32, view: u32): u32 {
  if (opened(handle) === null) return 0;
  const mixture = mixtureOf(view);
  return mixture === null ? 0 : mixture.mixture - <u32>HEAD_BYTES;
}

/** Sets STATE from the input buffer, to change shares or to continue from an earlier state. Returns 0, or a code if nothing changed. */
export function replay_set_mixture(handle: u32, view: u32, state: usize): i32 {
  const root = opened(handle);
  if (root === null) return CLOSED;
  const mixture = mixtureOf(view);
  if (mixture === null) return NOT_FOUND;
  const k = mixture.nextCount;
  const bytes = RANDOM_BYTES + ((<usize>k) << 4);
  if (!root.holds(state, <f64>(HEAD_BYTES + bytes))) return outside("the state of the mixture", state, <f64>(HEAD_BYTES + bytes));
  const sources = load<u32>(state);
  if (sources != k) return Refusal.of(SPEC_MISMATCH).put("the state of the mixture must have ").number(k).put(" sources, got ").number(sources).code;
  state += HEAD_BYTES;
  let sum: f64 = 0;
  for (let i: u32 = 0; i < k; i++) {
    const share = load<f64>(state + RANDOM_BYTES + ((<usize>i) << 3));
    const carry = load<f64>(state + RANDOM_BYTES + ((<usize>(k + i)) << 3));
    if (!(share >= 0 && share < Infinity)) return Refusal.of(INVALID).put("a share must be a finite number of at least 0, got ").number(share).code;
    if (!(Math.abs(carry) <= MAX_CARRY)) return Refusal.of(INVALID).put("a carry must be a number from -2^32 to 2^32, got ").number(carry).code;
    sum += share;
  }
  if (!(sum > 0 && sum < Infinity)) return Refusal.of(INVALID).put("the sum of the shares must be finite and above 0, got ").number(sum).code;
  memory.copy(<usize>mixture.mixture, state, bytes);
  return 0;
}
