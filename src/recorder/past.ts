/** What a recording holds when it is opened to go on: read from its two newest segments, and from those that are not sealed. */
import { ReplayError } from "../base/error.ts";
import { RECORDED_END, RECORDED_FINAL, RECORDED_FRAME, RECORDED_INDEX, RECORDED_STEP } from "../base/kinds.ts";
import { Contents, endOf } from "../datasets/model/recording/contents.ts";

/** What there is to go on from. */
export interface Past {
  /** Of the newest segment. */
  readonly contents: Contents;
  readonly segment: number;
  /** What the newest segment should begin with, and does not, since a crash came between. */
  readonly index: { readonly of: number; readonly bytes: Uint8Array } | undefined;
  /** Steps of the episode that a crash cut; 0 where none was. */
  readonly cut: number;
  /** Number of the next episode. */
  readonly next: number;
  /** Episodes that are recorded, but for those that were discarded. */
  readonly kept: number;
}

export class PastReader {
  /** Of the segment that was visited last. */
  #contents: Contents | undefined;
  #segment = 0;

  /** A section of a whole group. @throws ReplayError CORRUPT */
  visit(kind: number, id: number, payload: Uint8Array, segment: number): void {
    if (segment !== this.#segment) this.#contents = kind === RECORDED_INDEX ? new Contents(Contents.of(payload).after) : this.#begin(segment);
    this.#segment = segment;
    const contents = this.#contents as Contents;
    if (kind === RECORDED_STEP || kind === RECORDED_FINAL) contents.step(id);
    else if (kind === RECORDED_END) contents.end(id, endOf(payload));
    else if (kind !== RECORDED_FRAME && kind !== RECORDED_INDEX) throw new ReplayError("CORRUPT", `the recording has a section of kind ${kind}`);
  }

  /** Once all sections were visited. @param newest number of the newest segment @throws ReplayError CORRUPT */
  finish(newest: number): Past {
    const [before, of] = [this.#contents, this.#segment];
    const contents = newest === of ? (before as Contents) : this.#begin(newest);
    const { kept, episode, length } = contents.after;
    return {
      contents,
      segment: newest,
      index: newest === of || before === undefined ? undefined : { of, bytes: before.bytes() },
      cut: length,
      next: episode + Number(length > 0),
      kept: kept + Number(length > 0),
    };
  }

  /** A segment that does not say what stands before it: the first, or one behind which a crash came. */
  #begin(segment: number): Contents {
    if (this.#contents !== undefined) return new Contents(this.#contents.after);
    if (segment === 1) return new Contents();
    throw new ReplayError("CORRUPT", `segment ${segment} of the recording does not say what stands before it`);
  }
}
