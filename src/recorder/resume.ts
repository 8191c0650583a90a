/** Reads the state from which a recording continues. This requires its two newest segments and any unsealed segments. */
import { ReplayError } from "../base/error.ts";
import { RECORDED_END, RECORDED_FINAL, RECORDED_FRAME, RECORDED_INDEX, RECORDED_STEP } from "../base/kinds.ts";
import { Contents, endOf } from "../datasets/model/recording/contents.ts";

/** The state from which recording continues. */
export interface ResumeState {
  /** The contents of the newest segment. */
  readonly contents: Contents;
  readonly segment: number;
  /** The index that is missing at the beginning of the newest segment because of a crash. Undefined if no index is missing. */
  readonly index: { readonly previousSegment: number; readonly bytes: Uint8Array } | undefined;
  /** The number of steps in the last episode if a crash or `close` cut it off, or 0 otherwise. */
  readonly cutLength: number;
  /** The number of the next episode. */
  readonly nextEpisode: number;
  /** The number of recorded episodes. Includes episodes that a crash or `close` cut off, but no discarded episodes. */
  readonly episodes: number;
}

export class ResumeReader {
  /** The contents of the segment that was visited last. */
  #contents: Contents | undefined;
  #segment = 0;

  /** Reads a section of a complete group. @throws ReplayError CORRUPT */
  visit(kind: number, id: number, payload: Uint8Array, segment: number): void {
    if (segment !== this.#segment) this.#contents = kind === RECORDED_INDEX ? new Contents(Contents.of(payload).after) : this.#begin(segment);
    this.#segment = segment;
    const contents = this.#contents as Contents;
    if (kind === RECORDED_STEP || kind === RECORDED_FINAL) contents.step(id);
    else if (kind === RECORDED_END) contents.end(id, endOf(payload));
    else if (kind !== RECORDED_FRAME && kind !== RECORDED_INDEX) throw new ReplayError("CORRUPT", `the recording has a section of unknown kind ${kind}`);
  }

  /** Returns the state after all sections were visited. @param newest the number of the newest segment @throws ReplayError CORRUPT */
  finish(newest: number): ResumeState {
    const [previous, of] = [this.#contents, this.#segment];
    const contents = newest === of ? (previous as Contents) : this.#begin(newest);
    const { kept: episodes, episode, length } = contents.after;
    return {
      contents,
      segment: newest,
      index: newest === of || previous === undefined ? undefined : { previousSegment: of, bytes: previous.bytes() },
      cutLength: length,
      nextEpisode: episode + Number(length > 0),
      episodes: episodes + Number(length > 0),
    };
  }

  /** Starts a segment without an index, which is the first segment or a segment after a crash. */
  #begin(segment: number): Contents {
    if (this.#contents !== undefined) return new Contents(this.#contents.after);
    if (segment === 1) return new Contents();
    throw new ReplayError("CORRUPT", `segment ${segment} of the recording has no index of the data before it`);
  }
}
