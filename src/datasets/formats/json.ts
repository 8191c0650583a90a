/** Parses and writes the JSON in files of other programs. */
import { MAX_JSON_DEPTH } from "../../base/file-limits.ts";

const QUOTE = 34;
/** The words that Python writes for numbers that standard JSON cannot represent. */
const LITERALS = ["NaN", "Infinity", "-Infinity"];

/**
 * Parses JSON in which NaN and infinities may be words, as Python writes them. Such words become strings. @throws SyntaxError if the text is not JSON or is
 * nested too deeply
 */
export function parseJson(text: string): unknown {
  checkDepth(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    const quotedText = quoteLiterals(text);
    if (quotedText === text) throw error;
    return JSON.parse(quotedText);
  }
}

/** Characters from the private use area of Unicode. A character that does not occur in a text marks the large integers of that text while it is parsed. */
const MARKS = ["e000", "e001", "e002", "e003"].map((hex) => ({ hex, mark: String.fromCharCode(Number.parseInt(hex, 16)) }));
/** Matches a possible large integer, which cannot follow a decimal point. */
const LARGE_INTEGER = /(?:^|[[:,\s-])\d{16}/;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const MINUS = 45;

/**
 * Parses JSON like `parseJson`, but integers that numbers cannot represent exactly become bigints, within the range of i64 and u64. @throws the errors of
 * `parseJson`
 */
export function parseExactJson(text: string): unknown {
  if (!LARGE_INTEGER.test(text)) return parseJson(text);
  const lower = text.toLowerCase();
  const mark = MARKS.find(({ hex, mark }) => !text.includes(mark) && !lower.includes(`\\u${hex}`))?.mark;
  if (mark === undefined) return parseJson(text);
  checkDepth(text);
  const marked = markIntegers(text, mark);
  const revive = (_: string, value: unknown) => (typeof value === "string" && value.startsWith(mark) ? integerOf(value.slice(1)) : value);
  try {
    return JSON.parse(marked, revive);
  } catch (error) {
    const quotedText = quoteLiterals(marked);
    if (quotedText === marked) throw error;
    return JSON.parse(quotedText, revive);
  }
}

function integerOf(digits: string): number | bigint {
  const integer = BigInt(digits);
  return integer >= -(2n ** 63n) && integer < 2n ** 64n ? integer : Number(digits);
}

/** Replaces integers that would be rounded as numbers with strings that begin with a mark. */
function markIntegers(text: string, mark: string): string {
  let output = "";
  let done = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === MINUS || (code >= 48 && code <= 57)) {
      NUMBER.lastIndex = at;
      const [token = ""] = NUMBER.exec(text) ?? [];
      if (token === "") continue;
      if (/^-?\d{16,20}$/.test(token) && !Number.isSafeInteger(Number(token))) {
        output += `${text.slice(done, at)}"${mark}${token}"`;
        done = at + token.length;
      }
      at += token.length - 1;
    }
  }
  return output + text.slice(done);
}

function checkDepth(text: string): void {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    // The codes 91 and 123 are [ and {. The codes 93 and 125 are ] and }.
    else if (code === 91 || code === 123) depth++;
    else if (code === 93 || code === 125) depth--;
    if (depth > MAX_JSON_DEPTH) throw new SyntaxError(`the value is nested more than ${MAX_JSON_DEPTH} levels deep`);
  }
}

function quoteLiterals(text: string): string {
  let output = "";
  let done = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    const literal = LITERALS.find((literal) => text.startsWith(literal, at));
    if (literal === undefined) continue;
    output += `${text.slice(done, at)}"${literal}"`;
    done = at + literal.length;
    at = done - 1;
  }
  return output + text.slice(done);
}

/** Returns the index of the quote that ends a string, or the length of the text if the string does not end. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/**
 * Returns JSON as the json module of Python writes it. NaN and infinities are words, bigints are integers, and whole numbers in a Float64Array end with `.0`.
 */
export function pythonJson(value: unknown): string {
  if (typeof value === "bigint" || typeof value === "number") return String(value);
  if (value instanceof Float64Array) return `[${Array.from(value, (x) => (Number.isInteger(x) && Math.abs(x) < 1e21 ? `${x}.0` : String(x))).join(", ")}]`;
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return `{${entries.map(([name, part]) => `${JSON.stringify(name)}: ${pythonJson(part)}`).join(", ")}}`;
}
