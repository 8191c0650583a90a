/** Builds the steps of an episode from the messages of its topics, sampled at the ticks of a clock. */
import { DTYPES, zeros } from "../../../schema/dtype.ts";
import { isText, sizeOf } from "../../../schema/leaf.ts";
import type { ColumnData } from "../../model/column-data.ts";
import { LazyColumn } from "../../model/lazy-column.ts";
import { leavesOf } from "../../model/leaves.ts";
import { corruptFile, type Place, RldsError, unsupportedFile } from "../../model/rlds-error.ts";
import { type EndedSteps, episodeSteps, type TransitionSpec } from "../columns/transitions.ts";
import type { ImageDecoder } from "../images/images.ts";
import { pixelsOf } from "./image.ts";
import { bytesOf, isImage, type LeafValue } from "./leaf-values.ts";
import type { Mapping } from "./options.ts";
import { TickValues, tickBefore } from "./ticks.ts";

/** The settings that are the same for all episodes of a dataset. */
export interface StepForm {
  readonly spec: TransitionSpec;
  readonly mapping: Mapping;
  readonly maxBytes: number;
  readonly decode: ImageDecoder;
}

/** The fields of a mapping that mark terminal steps. Their values set `is_terminal` and are not leaves of the step. */
export const TERMINALS = ["terminated", "done", "is_terminal"];
/** The estimated overhead of a value in memory, in bytes. */
const VALUE_BYTES = 64;

export class EpisodeSteps {
  readonly place: Place;
  readonly #form: StepForm;
  readonly #origin: bigint;
  readonly #values: readonly TickValues<LeafValue>[];
  #last = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  /** The time of the latest message, in nanoseconds. */
  latest: bigint;

  /** @param origin the time of tick 0, in nanoseconds */
  constructor(form: StepForm, origin: bigint, place: Place) {
    this.#form = form;
    this.#origin = origin;
    this.latest = origin;
    this.place = place;
    const { leaves, sample, rate } = form.mapping;
    this.#values = leaves.map(() => new TickValues<LeafValue>(sample, rate));
  }

  /** Adds a value of a leaf. @param leaf the index in the mapping @throws RldsError CORRUPT if the values exceed maxBytes */
  add(leaf: number, time: bigint, value: LeafValue): void {
    const relative = Number(time - this.#origin);
    if (time > this.latest) this.latest = time;
    this.#last = Math.max(this.#last, tickBefore(relative, this.#form.mapping.rate));
    const dropped = (this.#values[leaf] as TickValues<LeafValue>).add(relative, value);
    this.#bytes += VALUE_BYTES + bytesOf(value) - (dropped === undefined ? 0 : VALUE_BYTES + bytesOf(dropped));
    if (this.#bytes > this.#form.maxBytes) this.#tooMuch(`its values take ${this.#bytes} bytes in memory`);
  }

  /**
   * Returns the steps, or undefined if the episode has no tick.
   * @throws RldsError INVALID_DATA if a topic has no message · CORRUPT if the steps exceed maxBytes
   */
  end(): (EndedSteps & { readonly start: bigint }) | undefined {
    const { spec, mapping, maxBytes } = this.#form;
    let from = Number.NEGATIVE_INFINITY;
    for (const [i, { begin }] of this.#values.entries()) {
      const { keys, topic } = mapping.leaves[i] as Mapping["leaves"][number];
      if (begin === undefined)
        throw new RldsError(
          "INVALID_DATA",
          `${keys.join("/")} is read from ${topic}, but the episode has no message on that topic. Pass salvage: true to skip the episode`,
          this.place,
        );
      from = Math.max(from, begin);
    }
    const length = this.#last + 1 - from;
    if (!(length > 0)) return undefined;
    const leaves = leavesOf(spec);
    const rowBytes = leaves.reduce((sum, { leaf, size }) => sum + VALUE_BYTES + (isText(leaf) ? 0 : Math.min(size, 2 ** 16) * DTYPES[leaf.dtype].bytes), 0);
    if (length * rowBytes > maxBytes) this.#tooMuch(`it has ${length} steps in ${Math.round(length / mapping.rate)} seconds`);
    const columns = new Map<string, ColumnData>();
    let isTerminal = false;
    for (const [i, { keys }] of mapping.leaves.entries()) {
      const values = (this.#values[i] as TickValues<LeafValue>).values(from, from + length);
      if (TERMINALS.includes(keys[0] as string)) isTerminal ||= Number((values.at(-1) as LeafValue & { data: ArrayLike<unknown> }).data[0]) !== 0;
      else columns.set(keys.join("/"), this.#column(values, keys.join("/")));
    }
    const { rate } = mapping;
    if (!columns.has("timestamp"))
      columns.set(
        "timestamp",
        Float64Array.from({ length }, (_, k) => k / rate),
      );
    if (!mapping.leaves.some(({ keys }) => keys[0] === "reward")) columns.set("reward", new Float32Array(length));
    const data = leaves.map(({ path }) => columns.get(path) as ColumnData);
    const steps = episodeSteps(spec, { data, length, finalStep: false, ending: isTerminal ? "terminated" : "truncated" });
    return { ...steps, start: this.#origin + BigInt(Math.round((from * 1e9) / rate)) };
  }

  #column(values: readonly LeafValue[], path: string): ColumnData {
    const [first] = values as [LeafValue, ...LeafValue[]];
    const size = sizeOf(first.shape);
    if (isImage(first)) return this.#frames(values as never, size, path);
    if (first.dtype === "string") return values.flatMap((value) => (value as { data: readonly string[] }).data) as ColumnData;
    const all = zeros(first.dtype, values.length * size) as Float64Array;
    for (const [k, value] of values.entries()) all.set((value as unknown as { data: Float64Array }).data, k * size);
    return all as ColumnData;
  }

  /** Returns a column that decodes frames on access, because the decoded frames of an episode may not fit in memory. */
  #frames(images: readonly (LeafValue & { readonly bytes: Uint8Array })[], size: number, path: string): ColumnData {
    const { decode, maxBytes } = this.#form;
    const { dtype } = images[0] as { readonly dtype: "u8" };
    return LazyColumn.of({
      rows: images.length,
      size,
      check: () => {
        const bytes = images.length * size * DTYPES[dtype].bytes;
        if (bytes > maxBytes)
          throw unsupportedFile(
            this.place,
            `the frames of ${path} take ${bytes} bytes together, more than the ${maxBytes} that maxBytes allows. Read them step by step`,
          );
      },
      read: (from, to) => {
        const all = zeros(dtype, (to - from) * size);
        for (let i = from; i < to; i++) {
          try {
            const pixels = pixelsOf(images[i] as never, decode, maxBytes) as Uint8Array<ArrayBuffer>;
            if (pixels.length !== size) throw new Error(`the image has ${pixels.length} numbers, but the first image has ${size}`);
            all.set(pixels, (i - from) * size);
          } catch (cause) {
            throw corruptFile({ ...this.place, step: i }, `an image of ${path} cannot be read: ${(cause as Error).message}`, cause);
          }
        }
        return all;
      },
    });
  }

  #tooMuch(what: string): never {
    const { maxBytes } = this.#form;
    throw corruptFile(
      this.place,
      `the episode needs more than the ${maxBytes} bytes that maxBytes allows: ${what}. Set episodesBy: { gap: … } if the recording has pauses, or lower the rate`,
    );
  }
}
