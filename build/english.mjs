// Finds habits that the style sheet forbids, in Markdown, comments and messages. `node build/english.mjs [ROOT]` lists each place and its remedy, and fails if
// it finds any. `-- WORDS` checks only files whose paths contain one of the words.
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { textsOf } from "./texts.mjs";

/** The folders that are searched for prose. "." is only the files in the root. */
const FOLDERS = [".", "assembly", "bench", "build", "docs", "embed", "examples", "page", "src", "test"];
const PROSE = /\.(?:ts|mjs|js|md|py|lua|c|h|cs|rs)$/;
/** Matches the paths of files that are not checked, because they are generated, written by other people, or data. */
const NO_PROSE = /(?:^|\/)(?:node_modules|dist|\.[^/]+)\/|\.d\.ts$|^test\/(?:data|originals)\/|^(?:build|embed\/python\/build)\/[^/]+\/|egg-info|__pycache__/;
/** Matches the paths of tests, whose literals are not checked, because they are values to compare and not messages. */
const TESTS = /^test\/|\/tests\//;

/** Nouns that name a unit in phrases like "bytes per step". */
const UNIT =
  "batch|byte|call|camera|chunk|column|connection|draw|element|entry|episode|file|folder|format|frame|group|item|key|kind|lane|leaf|line|machine|message|minute|page|pixel|process|Replay|request|room|row|run|sample|second|server|slot|step|table|tick|transition|value|verb|writer";
/** Nouns that name an amount. COUNTED_VERBS may also be verbs, so they match only after a number. */
const AMOUNT =
  "bits|bytes|columns|elements|entries|episodes|floats|items|milliseconds|rows|seconds|steps|times|transitions|values|words|once|twice|one|two|three|[mµn]s|[KMG]i?B";
const COUNTED_VERBS = "calls|draws|files|frames|lanes|leaves|messages|pages|samples|updates";
const NO_NOUN = "[a-z]+s|after|and|at|before|behind|but|by|for|from|if|in|into|like|of|on|or|per|than|that|to|until|when|where|which|while|with|without";

/** Each habit has a pattern, in which a space matches any blank, and a remedy. */
export const HABITS = [
  { habit: "`is no`", pattern: /(?<!\b[Tt]here )\b(?:is|are|was|were) no\b(?! (?:longer|more|less|fewer|later|earlier)\b)/, write: "is not a …, or: has no …" },
  { habit: "`must be said`", pattern: /\b(?:must|has to|have to) be said\b/, write: "is required" },
  {
    habit: "`a lane`",
    pattern: new RegExp(
      `(?<!\\b(?:how|how many|which|by) )\\b(?:${AMOUNT}|(?:\\d[\\d,.]*|many|more|few|fewer|of|two|three) (?:${COUNTED_VERBS})|(?:an?|one) (?!(?:${NO_NOUN})\\b)[a-zé-]+) an? (?:${UNIT})\\b(?! (?:of|with|that|whose|which|is|has|time|out|without)\\b)`,
    ),
    write: "per lane, per step, …",
  },
  { habit: "`alone`", pattern: /(?<!\b(?:let|left|leave|leaves|stand)[ -])(?<= )alone\b/, write: "only …" },
  { habit: "`for ever`", pattern: /\bfor ever\b/, write: "permanently" },
  { habit: "`Of …`", pattern: /(?:^ ?|[.!?:]["')]* |@\w+ (?:\w+ )?)Of (?!course\b)/, write: "name the subject first" },
  { habit: "`got undefined`", pattern: /\bgot undefined\b/, write: "is required" },
  {
    habit: "`Told of …`",
    pattern: /(?:^ ?|[.!?:]["')]* |@\w+ )(?:Asked|Handed|Heard|Lent|Said|Told|Wanted)\b/,
    write: "a sentence with a subject and a verb: Receives …, Returns …",
  },
  { habit: "`at once`", pattern: /\bat once\b/, write: "immediately; or: together" },
  { habit: "`so many`", pattern: /\bso many\b(?! (?:[a-z]+ )?that\b)/, write: "that many" },
  { habit: "`hardly meant`", pattern: /\bhardly meant\b/, write: "probably a mistake" },
  { habit: "`goes on`", pattern: /\b(?:goes|gone|went|going) on\b/, write: "continues" },
  { habit: "`gives back`", pattern: /\b(?:gives?|gave|given|giving)(?: (?:it|them|its \w+|their \w+))? back\b/, write: "releases, returns" },
  { habit: "`lets go`", pattern: /\b(?:lets?|letting) go\b/, write: "releases" },
  { habit: "`begins anew`", pattern: /\b(?:begins?|began|begun|beginning) anew\b/, write: "restarts, resets" },
  { habit: "`whoever`", pattern: /\b[Ww]hoever\b/, write: "the noun: the caller, the host, a program that …" },
  { habit: "`also where`", pattern: /\b[Aa]lso where\b/, write: "even if; also if" },
  { habit: "`, too`", pattern: /(?<=\w), too(?=[.,;:)]|$)/, write: "also, before the verb" },
  { habit: "`in vain`", pattern: /\bin vain\b/, write: "without effect; wasted" },
].map(({ pattern, ...habit }) => ({ ...habit, pattern: spaced(pattern) }));

const MAX_WORDS = 80;

function spaced({ source }) {
  return new RegExp(source.replaceAll(" ", "\\s+").replaceAll("\\s+?", "\\s*"), "g");
}

/** Returns the places in a file that have a forbidden habit or a paragraph that is too long, as {line, habit, write, text} in order. */
export function habitsIn(path, source) {
  const places = [];
  const place = (at, habit, write, text) => places.push({ at, habit, write, text: text.replace(/\s+/g, " ").trim() });
  for (const { kind, text, offset } of textsOf(path, source)) {
    if (kind === "literal" && (TESTS.test(path) || !text.trim().includes(" "))) continue;
    for (const { habit, pattern, write } of HABITS)
      for (const { 0: found, index } of text.matchAll(pattern)) {
        const skipped = found.length - found.trimStart().length;
        place(
          offset + index + skipped,
          habit,
          write,
          source.slice(offset + Math.max(0, index - 30), offset + Math.min(index + found.length + 30, text.length)),
        );
      }
    if (kind === "paragraph") {
      const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
      if (words > MAX_WORDS)
        place(offset, `${words} words`, `at most ${MAX_WORDS} words in a paragraph: split it, or make a list`, source.slice(offset, offset + 60));
    }
  }
  if (path.endsWith(".md"))
    for (const { index } of source.matchAll(/(?<=^[ \t]*\|[^\n]*\|[ \t]*\n)(?:[ \t]*\n)+(?=[ \t]*\|[^\n]*\|[ \t]*\n(?![ \t]*\|[-: |]+\|[ \t]*$))/gm))
      place(index, "blank line in a table", "no blank line: it ends the table", "");
  const lineAt = lineNumbers(source);
  return places.sort((a, b) => a.at - b.at).map(({ at, ...found }) => ({ line: lineAt(at), ...found }));
}

/** Returns a function that returns the line number of an offset. Offsets must not decrease from call to call. */
function lineNumbers(source) {
  let number = 1;
  let from = 0;
  return (at) => {
    for (let end = source.indexOf("\n", from); end >= 0 && end < at; end = source.indexOf("\n", from)) {
      number++;
      from = end + 1;
    }
    return number;
  };
}

/** Returns the places in a tree's files by path. @param words parts of paths: only files whose paths contain at least one are checked; if empty, all files */
export function english(root, words = []) {
  const found = new Map();
  for (const path of sources(root).filter((path) => words.length === 0 || words.some((word) => path.includes(word)))) {
    const places = habitsIn(path, readFileSync(join(root, path), "utf8"));
    if (places.length > 0) found.set(path, places);
  }
  return found;
}

function sources(root) {
  const paths = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    folder === "." ? readdirSync(root, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : [])) : walk(root, folder),
  );
  return paths.filter((path) => PROSE.test(path) && !NO_PROSE.test(path)).sort();
}

function walk(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NO_PROSE.test(`${path}/`) ? [] : walk(root, path);
    return entry.isFile() ? [path] : [];
  });
}

function sentence(path, { line, habit, write, text }) {
  return `${path}:${line}: ${habit}: ${write}${text === "" ? "" : `  [${text}]`}`;
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  const split = args.indexOf("--");
  const [given] = split < 0 ? args : args.slice(0, split);
  const found = english(resolve(given ?? dirname(dirname(fileURLToPath(import.meta.url)))), split < 0 ? [] : args.slice(split + 1));
  const lines = [...found].flatMap(([path, places]) => places.map((place) => sentence(path, place)));
  for (const line of lines) console.error(line);
  console.log(`english: ${lines.length} faults in ${found.size} files`);
  process.exitCode = lines.length === 0 ? 0 : 1;
}
