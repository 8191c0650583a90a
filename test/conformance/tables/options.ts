/** Converts a case's tables to our options. */
import {
  fifo,
  lifo,
  maxHeap,
  minHeap,
  minSize,
  prioritized,
  queueLimiter,
  type RateLimiter,
  type Selector,
  sampleToInsertRatio,
  type TableOptions,
  uniform,
} from "../../../src/index.ts";
import { Malformed, numberOf, type TableArgs } from "../case.ts";

/** The maxSize of a table whose case does not set one, in items. */
const DEFAULT_SIZE = 100;

export function tableOptions(args: TableArgs): TableOptions {
  const { kind, sampler = "Fifo", remover = "Fifo", max_size = DEFAULT_SIZE, max_times_sampled = 0, rate_limiter = ["MinSize", 1] } = args;
  const maxSize = max_size as number;
  if (kind === "queue") return { maxSize, sampler: fifo(), remover: fifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(maxSize) };
  if (kind === "stack") return { maxSize, sampler: lifo(), remover: lifo(), maxTimesSampled: 1, rateLimiter: queueLimiter(maxSize) };
  if (kind !== undefined) throw new Malformed(`table ${args.name} must have the kind queue or stack, got ${JSON.stringify(kind)}`);
  return {
    maxSize,
    sampler: selectorOf(sampler),
    remover: selectorOf(remover),
    rateLimiter: limiterOf(rate_limiter),
    // In Reverb, 0 and negative numbers mean no limit.
    ...((max_times_sampled as number) <= 0 ? {} : { maxTimesSampled: max_times_sampled as number }),
  };
}

export function selectorOf(given: unknown): Selector {
  const [name, argument] = Array.isArray(given) ? given : [given];
  switch (name) {
    case "Fifo":
      return fifo();
    case "Lifo":
      return lifo();
    case "Uniform":
      return uniform();
    case "MinHeap":
      return minHeap();
    case "MaxHeap":
      return maxHeap();
    case "Prioritized":
      return prioritized(numberOf(argument) as number);
    default:
      throw new Malformed(`unknown selector ${JSON.stringify(given)}`);
  }
}

function limiterOf(given: unknown): RateLimiter {
  const [name, ...args] = Array.isArray(given) ? given : [given];
  const [a, b, c, d] = args.map(numberOf) as number[] as [number, number, number, number];
  switch (name) {
    case "MinSize":
      return minSize(a);
    case "SampleToInsertRatio":
      return sampleToInsertRatio(a, b, c);
    case "Queue":
    case "Stack":
      return queueLimiter(a);
    case "RateLimiter":
      return { samplesPerInsert: a, minSize: b, minDiff: c, maxDiff: d };
    default:
      throw new Malformed(`unknown rate limiter ${JSON.stringify(given)}`);
  }
}
