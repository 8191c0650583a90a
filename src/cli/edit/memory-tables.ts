/** Applies the table options of `reprise edit` to the tables of a snapshot or a journal. */
import { didYouMean } from "../../base/error.ts";
import { minSize, queueLimiter, type RateLimiter, SELECTORS, type Selector, sampleToInsertRatio } from "../../index.ts";
import { SELECTOR_KINDS, type SelectorName } from "../../schema/selector.ts";
import type { TableOptions } from "../../schema/table-options.ts";
import { UsageError } from "../exit.ts";
import { selectorOf } from "../program-parts.ts";
import { type EditOptions, LIMITER_FORMS, pairOf } from "./options.ts";

const REMOVERS = SELECTORS.filter((kind) => !SELECTOR_KINDS[kind].samplesOnly);
const LIMITER_RULE = `TABLE=KIND, where KIND is one of ${LIMITER_FORMS}, such as memory=minSize:1000 or memory=sampleToInsertRatio:4,100,400`;
/** Example exponents for messages. */
const EXPONENTS: { readonly [kind: string]: string } = { prioritized: "0.6", recency: "1" };

type Changes = { readonly [name: string]: Partial<TableOptions> };

/** The constructors of rate limiters, each with the numbers of arguments that the command line accepts. */
const LIMITERS: { readonly [kind: string]: { readonly counts: readonly number[]; readonly make: (...numbers: readonly number[]) => RateLimiter } } = {
  minSize: { counts: [1], make: (items) => minSize(items) },
  sampleToInsertRatio: {
    counts: [3, 4],
    make: (ratio, items, from, to) => sampleToInsertRatio(ratio as number, items as number, to === undefined ? (from as number) : [from as number, to]),
  },
  queue: { counts: [1], make: (items) => queueLimiter(items as number) },
};

/**
 * Returns the options to change, by the name of the table.
 * @param names the names of the existing tables
 * @throws UsageError if a table does not exist, or if a value is invalid or set twice
 */
export function tableChangesOf(
  names: readonly string[],
  { maxSize = [], maxTimesSampled = [], sampler = [], remover = [], rateLimiter = [] }: EditOptions,
): Changes {
  const tables: { [name: string]: { [option: string]: unknown } } = {};
  const put = (flag: string, texts: readonly string[], option: keyof TableOptions, rule: string, parse: (text: string) => unknown) => {
    for (const text of texts) {
      const [name, value] = pairOf(flag, text, rule);
      if (!names.includes(name))
        throw new UsageError(`${flag} ${text}: there is no table ${JSON.stringify(name)}.${didYouMean(name, names)} Tables: ${names.join(", ")}`);
      if (tables[name]?.[option] !== undefined) throw new UsageError(`${flag} is passed twice for table ${name}. Pass it once`);
      tables[name] = { ...tables[name], [option]: parsed(`${flag} ${text}`, `${flag} requires ${rule}, got ${JSON.stringify(text)}`, () => parse(value)) };
    }
  };
  put("--max-size", maxSize, "maxSize", "TABLE=ITEMS, where ITEMS is a whole number >= 1", count);
  put("--max-times-sampled", maxTimesSampled, "maxTimesSampled", "TABLE=DRAWS, where DRAWS is a whole number >= 1", count);
  put("--sampler", sampler, "sampler", selectorRule(SELECTORS), (text) => selector(text, SELECTORS));
  put("--remover", remover, "remover", selectorRule(REMOVERS), (text) => selector(text, REMOVERS));
  put("--rate-limiter", rateLimiter, "rateLimiter", LIMITER_RULE, limiter);
  return tables;
}

/**
 * Returns the result of `parse`.
 * @param message the message of the error if `parse` returns undefined because the text has the wrong form
 * @throws UsageError if `parse` throws or returns undefined
 */
function parsed(what: string, message: string, parse: () => unknown): unknown {
  let value: unknown;
  try {
    value = parse();
  } catch (error) {
    throw new UsageError(`${what}: ${(error as Error).message}`);
  }
  if (value === undefined) throw new UsageError(message);
  return value;
}

function count(text: string): number | undefined {
  return /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
}

function selectorRule(kinds: readonly SelectorName[]): string {
  const examples = kinds.filter((kind) => SELECTOR_KINDS[kind].takesExponent).map((kind) => `${kind}:${EXPONENTS[kind]}`);
  return `TABLE=KIND, where KIND is one of ${kinds.join(", ")}, or ${examples.join(" or ")} with an exponent`;
}

/**
 * Parses a selector, or returns undefined if the text has the wrong form. @throws RangeError if the text has an exponent, but the selector does not take one
 */
function selector(text: string, kinds: readonly SelectorName[]): Selector | undefined {
  const [name, exponent, ...more] = text.split(":") as [string, string?];
  const kind = kinds.find((one) => one === name);
  const isNumber = exponent === undefined || (exponent.trim() !== "" && Number.isFinite(Number(exponent)));
  if (kind === undefined || !isNumber || more.length > 0) return undefined;
  if (exponent === undefined) return selectorOf(kind);
  if (!SELECTOR_KINDS[kind].takesExponent) throw new RangeError(`${kind} has no exponent. Remove :${exponent}`);
  return selectorOf(kind, Number(exponent));
}

/** Parses a rate limiter, or returns undefined if the text has the wrong form. @throws TypeError, RangeError if a number is out of range */
function limiter(text: string): RateLimiter | undefined {
  const at = text.indexOf(":");
  const kind = text.slice(0, Math.max(0, at));
  const parts = text.slice(at + 1).split(",");
  const { counts, make } = (Object.hasOwn(LIMITERS, kind) ? LIMITERS[kind] : undefined) ?? {};
  const areNumbers = parts.every((part) => part.trim() !== "" && Number.isFinite(Number(part)));
  return make !== undefined && counts?.includes(parts.length) && areNumbers ? make(...parts.map(Number)) : undefined;
}

/**
 * Checks that the changed tables can reach the size at which their rate limiters allow draws.
 * @param tables the tables after the changes
 * @throws UsageError if a table cannot
 */
export function checkLimiters(changes: Changes, tables: { readonly [name: string]: Pick<TableOptions, "maxSize" | "rateLimiter"> }): void {
  for (const name of Object.keys(changes)) {
    const { maxSize, rateLimiter } = tables[name] as { readonly maxSize: number; readonly rateLimiter: RateLimiter };
    if (rateLimiter.minSize > maxSize)
      throw new UsageError(
        `draws from table ${name} would wait for ${rateLimiter.minSize} items, but its size is at most ${maxSize}. Pass a larger --max-size, or another --rate-limiter`,
      );
  }
}
