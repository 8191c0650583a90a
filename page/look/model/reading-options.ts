/** Parses the options of a reader as a user types them, in the syntax of the command line. */
import type { NullValue, SelectionOptions } from "reprise/rlds";

export interface ReadingOptions extends SelectionOptions {
  readonly salvage?: boolean;
}

/** The fields of the form. */
export interface OptionTexts {
  readonly without: string;
  readonly only: string;
  readonly rename: string;
  readonly null: string;
  readonly salvage: boolean;
}

/** @throws TypeError for an entry without a required `=` */
export function readingOptions({ without, only, rename, null: nulls, salvage }: OptionTexts): ReadingOptions {
  const [left, kept] = [listOf(without), listOf(only)];
  const [names, values] = [pairsOf("Rename", "state=observation.state", rename), pairsOf("Nulls", "x=0", nulls)];
  return {
    ...(left.length > 0 && { without: left }),
    ...(kept.length > 0 && { only: kept }),
    ...(names.length > 0 && { rename: Object.fromEntries(names) }),
    ...(values.length > 0 && { null: Object.fromEntries(values.map(([name, text]) => [name, nullOf(text)])) }),
    ...(salvage && { salvage }),
  };
}

/** Renames options in a reader's error to the names of the form's fields. */
export function inWordsOfTheForm(message: string): string {
  return message
    .replace(/\bPass without: \["([^"\\]+)"\]/g, "Enter “Leave out: $1”")
    .replace(/\bnull: \{ "([^"\\]+)": … \}/g, "“Nulls: $1=…”")
    .replace(/\bPass rename: \{ NAME: "([^"\\]+)" \}/g, "Enter “Rename: NAME=$1”");
}

function listOf(text: string): string[] {
  return text.split(/[,\s]+/).filter((name) => name !== "");
}

function pairsOf(field: string, example: string, text: string): (readonly [string, string])[] {
  return listOf(text).map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new TypeError(`${field} must contain pairs such as ${example}, got ${JSON.stringify(pair)}`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
}

function nullOf(text: string): NullValue {
  if (/^-?\d{16,20}$/.test(text)) return BigInt(text);
  if (/^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) return Number(text);
  return text === "true" || text === "false" ? text === "true" : text;
}
