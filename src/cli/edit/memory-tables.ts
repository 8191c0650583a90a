/** What the options of `reprise edit` change in the tables of a snapshot or a journal. */
import { minSize, prioritized, queueLimiter, type RateLimiter, recency, SELECTORS, type Selector, sampleToInsertRatio } from "../../index.ts";
import type { SelectorName } from "../../schema/selector.ts";
import type { TableOptions } from "../../schema/table-options.ts";
import { UsageError } from "../exit.ts";
import { selectorOf } from "../program-parts.ts";
import { type EditOptions, LIMITER_FORMS, pairOf } from "./options.ts";

type Changes = { readonly [name: string]: Partial<TableOptions> };

/** What makes a rate limiter, and of how many numbers. */
const LIMITERS: { readonly [kind: string]: { readonly counts: readonly number[]; readonly make: (...numbers: readonly number[]) => RateLimiter } } = {
  minSize: { counts: [1], make: (items) => minSize(items) },
  sampleToInsertRatio: {
    counts: [3, 4],
    make: (ratio, items, from, to) => sampleToInsertRatio(ratio as number, items as number, to === undefined ? (from as number) : [from as number, to]),
  },
  queue: { counts: [1], make: (items) => queueLimiter(items as number) },
};

/** @param names of the tables that there are @throws UsageError */
export function tableChangesOf(
  names: readonly string[],
  { maxSize = [], maxTimesSampled = [], sampler = [], remover = [], rateLimiter = [] }: EditOptions,
): Changes {
  const tables: { [name: string]: { [option: string]: unknown } } = {};
  const put = (flag: string, texts: readonly string[], option: keyof TableOptions, what: string, parse: (text: string) => unknown) => {
    for (const text of texts) {
      const [name, value] = pairOf(flag, text, what);
      if (!names.includes(name)) throw new UsageError(`${flag} ${text}: there is no table ${JSON.stringify(name)}, the tables are ${names.join(", ")}`);
      if (tables[name]?.[option] !== undefined) throw new UsageError(`${flag} has ${name} twice. Give it once`);
      tables[name] = { ...tables[name], [option]: parse(value) };
    }
  };
  put("--max-size", maxSize, "maxSize", "TABLE=ITEMS", (text) => count("--max-size takes TABLE=ITEMS", text));
  put("--max-times-sampled", maxTimesSampled, "maxTimesSampled", "TABLE=DRAWS", (text) => count("--max-times-sampled takes TABLE=DRAWS", text));
  put("--sampler", sampler, "sampler", "TABLE=KIND", (text) => selector("--sampler", text));
  put("--remover", remover, "remover", "TABLE=KIND", (text) => selector("--remover", text));
  put("--rate-limiter", rateLimiter, "rateLimiter", "TABLE=KIND", limiter);
  return tables;
}

function count(rule: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new UsageError(`${rule}, a whole number from 1, got ${JSON.stringify(text)}`);
  return Number(text);
}

function selector(flag: string, text: string): Selector {
  const [kind, exponent, ...more] = text.split(":") as [string, string?];
  const isNumber = exponent === undefined || (exponent.trim() !== "" && Number.isFinite(Number(exponent)));
  if (!SELECTORS.includes(kind as SelectorName) || !isNumber || more.length > 0)
    throw new UsageError(
      `${flag} takes TABLE=KIND, one of ${SELECTORS.join(", ")}, or prioritized:0.6 or recency:1 with an exponent, got ${JSON.stringify(text)}`,
    );
  if (exponent === undefined) return selectorOf(kind as SelectorName);
  if (kind === "prioritized") return prioritized(Number(exponent));
  if (kind === "recency") return recency({ exponent: Number(exponent) });
  throw new UsageError(`${flag} ${kind} has no exponent: leave :${exponent} out`);
}

function limiter(text: string): RateLimiter {
  const at = text.indexOf(":");
  const kind = text.slice(0, Math.max(0, at));
  const parts = text.slice(at + 1).split(",");
  const { counts, make } = (Object.hasOwn(LIMITERS, kind) ? LIMITERS[kind] : undefined) ?? {};
  if (make === undefined || !counts?.includes(parts.length) || parts.some((part) => part.trim() === "" || !Number.isFinite(Number(part))))
    throw new UsageError(
      `--rate-limiter takes TABLE=KIND, one of ${LIMITER_FORMS}, such as memory=minSize:1000 or memory=sampleToInsertRatio:4,100,400, got ${JSON.stringify(text)}`,
    );
  try {
    return make(...parts.map(Number));
  } catch (error) {
    throw new UsageError(`--rate-limiter ${text}: ${(error as Error).message}`);
  }
}
