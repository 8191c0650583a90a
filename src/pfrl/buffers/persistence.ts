/** What both persistent buffers are given, and how they are opened. */
import { mustBe, onlyKeys } from "../../error.ts";
import { isPlain } from "../../spec/infer.ts";
import type { Directory } from "../../store/index.ts";
import { capacityOf, checkEngine, ENGINE_KEYS } from "../arguments.ts";
import { directoryOf, type PersistenceOptions } from "../files/log.ts";
import type { StepSpec } from "../rows/step-spec.ts";
import type { EngineOptions } from "../store/steps.ts";
import type { BufferOptions } from "./replay-buffer.ts";

export interface PersistentOptions<S extends StepSpec = StepSpec> extends BufferOptions<S>, PersistenceOptions {
  /** Of a package that was never public. */
  readonly distributed?: false;
  readonly group?: null;
}

export interface Opened<S extends StepSpec> {
  readonly directory: Directory;
  readonly capacity: number;
  readonly persistence: PersistenceOptions;
  readonly spec: S | undefined;
  readonly engine: EngineOptions;
  /** The directory is read later, piece by piece. */
  readonly later: boolean;
}

/** Given by `open`, behind the other arguments. */
export const LATER = Symbol("later");

const KEYS = `dirname, capacity, ancestor, logger, distributed, group, durability, retain, segmentBytes, salvage, ${ENGINE_KEYS}`;

/** (dirname, capacity, options), (dirname, options) or (options). @throws TypeError, RangeError · ReplayError UNSUPPORTED for what is not there */
export function persistentArguments<S extends StepSpec>(subject: string, args: readonly unknown[]): Opened<S> {
  const later = args.at(-1) === LATER;
  const given = later ? args.slice(0, -1) : [...args];
  const last = given.at(-1);
  const options = (isPlain(last) && typeof last.open !== "function" ? given.pop() : {}) as { readonly [name: string]: unknown };
  if (given.length > 2) throw mustBe(TypeError, subject, "called with a directory, a capacity and an object of options", args);
  const [dirname = options.dirname, capacity = options.capacity] = given;
  const {
    distributed = false,
    group = null,
    spec,
    maxBytes,
    seed,
    module,
    ancestor,
    logger,
    durability,
    retain,
    segmentBytes,
    salvage,
  } = onlyKeys(`${subject} options`, options, KEYS) as { readonly [name: string]: unknown } & PersistentOptions<S>;
  checkEngine({ maxBytes, seed });
  if (distributed !== false || group !== null)
    throw mustBe(
      "UNSUPPORTED",
      "distributed",
      "left out: its package was never public. Give each process a directory of its own, and read them as ancestor",
      distributed,
    );
  return {
    directory: directoryOf("dirname", dirname),
    capacity: capacityOf(capacity, 1),
    persistence: { ancestor, logger, durability, retain, segmentBytes, salvage },
    spec,
    engine: { maxBytes, seed, module },
    later,
  };
}
