/**
 * Decides from its form whether a regular expression takes linear time. Engines try alternatives one by one: if a text can be matched in several ways, a
 * failing match tries all of them. The expression becomes an automaton with one state per character class (Glushkov's). As in Weber and Seidl's theorem, two
 * questions decide. Can the same text lead from a state to itself in two ways (exponential)? Can one text lead around a state, around a later state, and from
 * the first to the second (quadratic, or worse)? A search that may begin anywhere is a loop over any character before it. An expression that may end in its
 * last loop never fails there, so that loop does not count.
 */

/** Returns the complexity as a word, or undefined if the time is linear. @throws Error for syntax that is not supported here */
export function slowness(source: string, flags: string): "exponential" | "quadratic" | undefined {
  const { states, last } = automatonOf(source, flags);
  if (isExponential(states, last)) return "exponential";
  return isQuadratic(states, last) ? "quadratic" : undefined;
}

interface State {
  /** The kinds of characters that the state accepts, as bits. */
  readonly takes: bigint;
  /** The states that may follow. A state with two paths to it is listed twice. */
  readonly next: number[];
}

/** A part of the expression. */
interface Part {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly empty: boolean;
}

/** A character class as bits: the kinds of which it accepts some characters, and the kinds of which it accepts all characters. */
interface Taken {
  readonly some: bigint;
  readonly every: bigint;
}

const NOTHING: Part = { first: [], last: [], empty: true };
/** Every ASCII character is a separate kind. Non-ASCII characters are letters or blanks. */
const LETTER = 128;
const BLANK = 129;
const ANY = (1n << 130n) - 1n;
const ASCII = (1n << 128n) - 1n;
const MOST_COPIES = 128;

const bit = (code: number) => 1n << BigInt(code < LETTER ? code : /\s/.test(String.fromCharCode(code)) ? BLANK : LETTER);
/** Non-ASCII characters of one kind share a bit, so a class with one of them accepts only some characters of the kind. */
const one = (code: number): Taken => ({ some: bit(code), every: bit(code) & ASCII });
const range = (from: number, to: number): bigint => {
  let bits = 0n;
  for (let code = from; code <= Math.min(to, 127); code++) bits |= 1n << BigInt(code);
  return to > 127 ? bits | bit(LETTER) | bit(0xa0) : bits;
};
const DIGITS = range(48, 57);
const WORDS = DIGITS | range(65, 90) | range(97, 122) | bit(95);
const SPACES = range(9, 13) | bit(32) | (1n << BigInt(BLANK));
const CLASSES: { readonly [letter: string]: bigint } = { d: DIGITS, w: WORDS, s: SPACES, D: ANY & ~DIGITS, W: ANY & ~WORDS, S: ANY & ~SPACES };
const CONTROLS: { readonly [letter: string]: number } = { n: 10, r: 13, t: 9, f: 12, v: 11, 0: 0, b: 8 };

function automatonOf(source: string, flags: string): { readonly states: readonly State[]; readonly last: ReadonlySet<number> } {
  const states: State[] = [];
  let at = 0;
  let unsure = false;

  const peek = () => source[at];
  const eat = (text: string): boolean => {
    const found = source.startsWith(text, at);
    if (found) at += text.length;
    return found;
  };
  const fail = (what: string): never => {
    throw new Error(`/${source}/ has ${what} at ${at}, which this check does not know: write it without`);
  };

  const state = (takes: bigint): Part => {
    const folded = flags.includes("i") ? bothCases(takes) : takes;
    states.push({ takes: folded, next: [] });
    return { first: [states.length - 1], last: [states.length - 1], empty: false };
  };
  const link = (from: readonly number[], to: readonly number[]) => {
    for (const one of from) states[one]?.next.push(...to);
  };
  const joined = (a: Part, b: Part): Part => {
    link(a.last, b.first);
    return { first: a.empty ? [...a.first, ...b.first] : a.first, last: b.empty ? [...a.last, ...b.last] : b.last, empty: a.empty && b.empty };
  };
  const either = (a: Part, b: Part): Part => ({ first: [...a.first, ...b.first], last: [...a.last, ...b.last], empty: a.empty || b.empty });

  /** Parses alternatives up to a bracket or the end. At the top level, alternatives that do not begin with ^ may begin anywhere. */
  const alternatives = (top: boolean): Part => {
    let bound: Part | undefined;
    let free: Part | undefined;
    do {
      const anchored = peek() === "^" && !flags.includes("m");
      const one = sequence();
      if (anchored || !top) bound = bound === undefined ? one : either(bound, one);
      else free = free === undefined ? one : either(free, one);
    } while (eat("|"));
    if (free === undefined) return bound ?? NOTHING;
    const search = state(ANY);
    link(search.last, search.first);
    const searched = joined({ ...search, empty: true }, free);
    return bound === undefined ? searched : either(bound, searched);
  };

  const sequence = (): Part => {
    let all: Part = NOTHING;
    while (at < source.length && peek() !== "|" && peek() !== ")") {
      // Assertions match no character and may fail, so nothing is certain about the end.
      if (eat("^")) continue;
      if (eat("\\b") || eat("\\B")) {
        unsure = true;
        continue;
      }
      // An unreachable state means that the previous part is not the end.
      if (eat("$")) {
        all = joined(all, state(0n));
        continue;
      }
      all = joined(all, repeated());
    }
    return all;
  };

  const repeated = (): Part => {
    const begin = at;
    const made = states.length;
    let part = atom();
    const counted = /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(at));
    let [min, max] = [1, 1];
    if (eat("*")) [min, max] = [0, Number.POSITIVE_INFINITY];
    else if (eat("+")) [min, max] = [1, Number.POSITIVE_INFINITY];
    else if (eat("?")) [min, max] = [0, 1];
    else if (counted !== null) {
      min = Number(counted[1]);
      max = counted[2] === "" ? min : counted[3] === "" ? Number.POSITIVE_INFINITY : Number(counted[3]);
      at += counted[0].length;
    } else return part;
    eat("?");
    const after = at;
    if (Math.max(min, max === Number.POSITIVE_INFINITY ? 0 : max) > MOST_COPIES) fail(`more than ${MOST_COPIES} repetitions`);
    // A repeated part is parsed again.
    const again = () => {
      at = begin;
      const copy = atom();
      at = after;
      return copy;
    };
    if (max === 0) {
      states.length = made;
      return NOTHING;
    }
    if (max === Number.POSITIVE_INFINITY) {
      let all: Part = min > 1 ? part : NOTHING;
      for (let n = 1; n < min - 1; n++) all = joined(all, again());
      if (min > 1) part = again();
      link(part.last, part.first);
      return joined(all, min === 0 ? { ...part, empty: true } : part);
    }
    let all: Part = part;
    for (let n = 1; n < min; n++) all = joined(all, again());
    // An additional repetition only follows the previous one.
    const last = [...all.last];
    for (let n = Math.max(min, 1), before = all.last; n < max; n++) {
      const copy = again();
      link(before, copy.first);
      last.push(...copy.last);
      before = copy.last;
    }
    at = after;
    return { first: all.first, last, empty: all.empty || min === 0 };
  };

  const atom = (): Part => {
    if (eat("(?:")) return closed(alternatives(false));
    if (source.startsWith("(?", at) && !/^\(\?<\w/.test(source.slice(at))) fail("an assertion");
    if (eat("(")) {
      if (eat("?<")) at = source.indexOf(">", at) + 1;
      return closed(alternatives(false));
    }
    if (eat("[")) return state(characters());
    if (eat(".")) return state(flags.includes("s") ? ANY : ANY & ~(bit(10) | bit(13)));
    if (eat("\\")) return state(escaped().some);
    const code = source.charCodeAt(at++);
    return state(bit(code));
  };

  const closed = (part: Part): Part => (eat(")") ? part : fail("a bracket that is open"));

  const escaped = (): Taken => {
    const letter = source[at++] as string;
    if (letter in CLASSES) return { some: CLASSES[letter] as bigint, every: CLASSES[letter] as bigint };
    if (letter in CONTROLS) return one(CONTROLS[letter] as number);
    if ((letter === "p" || letter === "P") && flags.includes("u")) return property(letter);
    if (letter === "x" || letter === "u") {
      const digits = letter === "x" ? 2 : 4;
      const code = Number.parseInt(source.slice(at, at + digits), 16);
      if (Number.isNaN(code)) fail("an escape");
      at += digits;
      return one(code);
    }
    return /[a-zA-Z0-9]/.test(letter) ? fail("an escape") : one(letter.charCodeAt(0));
  };

  /** Returns the class of a Unicode property. It is known for each ASCII character; only some non-ASCII characters have it. */
  const property = (letter: string): Taken => {
    const end = source.indexOf("}", at) + 1;
    const pattern = new RegExp(`\\${letter}${source.slice(at, end)}`, "u");
    at = end;
    let every = 0n;
    for (let code = 0; code < LETTER; code++) if (pattern.test(String.fromCharCode(code))) every |= bit(code);
    return { some: every | (ANY & ~ASCII), every };
  };

  const characters = (): bigint => {
    const negative = eat("^");
    let [some, every] = [0n, 0n];
    const add = (taken: Taken) => {
      some |= taken.some;
      every |= taken.every;
    };
    while (!eat("]")) {
      if (at >= source.length) fail("a class that is open");
      const begin = at;
      const taken = eat("\\") ? escaped() : one(source.charCodeAt(at++));
      if (peek() === "-" && source[at + 1] !== "]") {
        const from = source[begin] === "\\" ? codeOf(source.slice(begin, at)) : source.charCodeAt(begin);
        at++;
        const second = at;
        if (eat("\\")) escaped();
        else at++;
        const between = range(from, source[second] === "\\" ? codeOf(source.slice(second, at)) : source.charCodeAt(second));
        add({ some: between, every: between & ASCII });
      } else add(taken);
    }
    return negative ? ANY & ~every : some;
  };

  const codeOf = (text: string): number => {
    const letter = text[1] as string;
    if (letter === "x" || letter === "u") return Number.parseInt(text.slice(2), 16);
    return CONTROLS[letter] ?? letter.charCodeAt(0);
  };

  const whole = alternatives(true);
  if (at < source.length) fail("a bracket too many");
  return { states, last: new Set(unsure ? [] : whole.last) };
}

function bothCases(takes: bigint): bigint {
  let both = takes;
  for (let code = 65; code <= 90; code++)
    if (takes & ((1n << BigInt(code)) | (1n << BigInt(code + 32)))) both |= (1n << BigInt(code)) | (1n << BigInt(code + 32));
  return both;
}

/** Checks for two paths around one state with the same text: in the product of two runs they separate and meet again. */
function isExponential(states: readonly State[], last: ReadonlySet<number>): boolean {
  const n = states.length;
  return states.some((_, q) => {
    if (last.has(q) || !reaches(states, q, q)) return false;
    const back = new Set([...states.keys()].filter((each) => reaches(states, each, q)));
    // A path from (q, q), not separated, to (q, q), separated on the way.
    const seen = new Set<number>();
    const open: [number, number, boolean][] = [[q, q, false]];
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      const [a, b, parted] = step;
      for (const [i, x] of (states[a] as State).next.entries())
        for (const [j, y] of (states[b] as State).next.entries()) {
          if (!back.has(x) || !back.has(y) || !meets(states, x, y)) continue;
          const now = parted || x !== y || (a === b && i !== j);
          if (now && x === q && y === q) return true;
          const key = (x * n + y) * 2 + Number(now);
          if (seen.has(key)) continue;
          seen.add(key);
          open.push([x, y, now]);
        }
    }
    return false;
  });
}

/** Checks for a text that leads from p to p, from p to q and from q to q: three parallel runs. */
function isQuadratic(states: readonly State[], last: ReadonlySet<number>): boolean {
  const n = states.length;
  const looping = states.map((_, p) => reaches(states, p, p));
  for (let p = 0; p < n; p++)
    for (let q = 0; q < n; q++) {
      if (p === q || last.has(q) || !looping[p] || !looping[q] || !reaches(states, p, q)) continue;
      const seen = new Set<number>();
      const open: [number, number, number][] = [[p, p, q]];
      for (let step = open.pop(); step !== undefined; step = open.pop())
        for (const x of new Set(states[step[0]]?.next))
          for (const y of new Set(states[step[1]]?.next)) {
            if (!meets(states, x, y)) continue;
            for (const z of new Set(states[step[2]]?.next)) {
              if (((states[x] as State).takes & (states[y] as State).takes & (states[z] as State).takes) === 0n) continue;
              if (x === p && y === q && z === q) return true;
              const key = (x * n + y) * n + z;
              if (seen.has(key)) continue;
              seen.add(key);
              open.push([x, y, z]);
            }
          }
    }
  return false;
}

const meets = (states: readonly State[], x: number, y: number) => ((states[x] as State).takes & (states[y] as State).takes) !== 0n;

function reaches(states: readonly State[], from: number, to: number): boolean {
  const seen = new Set<number>();
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const next of (states[at] as State).next) {
      if (next === to) return true;
      if (!seen.has(next)) open.push(next);
      seen.add(next);
    }
  return false;
}
