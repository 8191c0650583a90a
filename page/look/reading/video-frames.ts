/** Replaces references to videos in steps with the frames themselves, from which films are re-encoded. */
import { ALL_FORMATS, BlobSource, Input, UrlSource, type VideoSample, VideoSampleSink } from "mediabunny";
import { type RldsDataset, type RldsEpisode, RldsError, type StepSpec } from "reprise/rlds";
import type { Given } from "../messages.ts";
import { fileAddress } from "../model/file-address.ts";

type Nested = { readonly [name: string]: unknown };

interface Film {
  readonly keys: readonly string[];
  readonly width: number;
  readonly height: number;
}

/** Returns the keys that lead to each reference to a video, which is a node `{path, timestamp}`. */
export function videoReferences(spec: StepSpec, keys: readonly string[] = []): string[][] {
  if (typeof spec !== "object" || spec === null || Array.isArray(spec) || "dtype" in spec) return [];
  const { path, timestamp } = spec as { readonly [name: string]: { readonly dtype?: unknown } };
  if (Object.keys(spec).length === 2 && path?.dtype === "string" && timestamp?.dtype === "f64") return [[...keys]];
  return Object.entries(spec).flatMap(([name, part]) => videoReferences(part as StepSpec, [...keys, name]));
}

export interface FilmedDataset {
  readonly data: RldsDataset<unknown>;
  /** The paths of the leaves that have become frames. */
  readonly videos: readonly string[];
}

/** @throws RldsError UNSUPPORTED if this browser cannot decode a video, NOT_FOUND, CORRUPT */
export async function withFrames(
  data: RldsDataset<unknown>,
  references: readonly (readonly string[])[],
  given: Given,
  signal: AbortSignal,
): Promise<FilmedDataset> {
  const opened = new Videos(given);
  const films = await formsOf(data, references, opened);
  let stepSpec = data.stepSpec as StepSpec;
  for (const { keys, width, height } of films) stepSpec = replaced(stepSpec, keys, { dtype: "u8", shape: [height, width, 3] }) as StepSpec;
  return {
    videos: references.map((keys) => keys.join("/")),
    data: {
      stepSpec,
      metadataSpec: data.metadataSpec,
      async *[Symbol.asyncIterator]() {
        try {
          for await (const episode of data as AsyncIterable<RldsEpisode<Nested>>) yield { ...episode, steps: filmed(episode, films, opened, signal) };
        } finally {
          opened.close();
        }
      },
    },
  };
}

/** Returns the size of each film, according to the first step of the dataset. */
async function formsOf(data: RldsDataset<unknown>, references: readonly (readonly string[])[], opened: Videos): Promise<Film[]> {
  for await (const { steps } of data as AsyncIterable<RldsEpisode<Nested>>) {
    for await (const step of steps as AsyncIterable<Nested>) {
      const films: Film[] = [];
      for (const keys of references) {
        const { codedWidth: width, codedHeight: height } = await opened.track(referenceIn(step, keys).path);
        films.push({ keys, width, height });
      }
      return films;
    }
  }
  throw new RldsError("EMPTY", "no remaining episode has steps");
}

async function* filmed({ steps }: RldsEpisode<Nested>, films: readonly Film[], opened: Videos, signal: AbortSignal): AsyncGenerator<unknown, void, undefined> {
  const all: Nested[] = [];
  for await (const step of steps as AsyncIterable<Nested>) all.push(step);
  const frames = films.map(({ keys }) => opened.frames(all.map((step) => referenceIn(step, keys))));
  try {
    for (const [i, step] of all.entries()) {
      signal.throwIfAborted();
      let full: unknown = step;
      for (const [k, { keys, width, height }] of films.entries()) {
        const { value: sample } = await (frames[k] as AsyncGenerator<VideoSample | null>).next();
        const { path, timestamp } = referenceIn(step, keys);
        if (!sample) throw new RldsError("CORRUPT", `the video has no frame at ${timestamp} s`, { file: path, step: i });
        full = replaced(full, keys, await pixelsOf(sample, width, height, path));
        sample.close();
      }
      yield full;
    }
  } finally {
    for (const each of frames) await each.return(undefined);
  }
}

const referenceIn = (step: Nested, keys: readonly string[]) =>
  keys.reduce<unknown>((at, key) => (at as Nested)[key], step) as { readonly path: string; readonly timestamp: number };

/** Returns a copy of the nest in which the part at the keys is replaced. */
function replaced(nest: unknown, [key, ...rest]: readonly string[], part: unknown): unknown {
  return key === undefined ? part : { ...(nest as Nested), [key]: replaced((nest as Nested)[key], rest, part) };
}

async function pixelsOf(sample: VideoSample, width: number, height: number, file: string): Promise<Uint8Array> {
  if (sample.codedWidth !== width || sample.codedHeight !== height)
    throw new RldsError(
      "UNSUPPORTED",
      `the video has a frame of ${sample.codedWidth} × ${sample.codedHeight} pixels, but its first frame has ${width} × ${height}`,
      {
        file,
      },
    );
  const four = new Uint8Array(sample.allocationSize({ format: "RGBX" }));
  await sample.copyTo(four, { format: "RGBX" });
  const three = new Uint8Array(width * height * 3);
  for (let i = 0, to = 0; to < three.length; i += 4) {
    three[to++] = four[i] as number;
    three[to++] = four[i + 1] as number;
    three[to++] = four[i + 2] as number;
  }
  return three;
}

type Track = NonNullable<Awaited<ReturnType<Input["getPrimaryVideoTrack"]>>>;

/** The open videos. A frame is requested at a time slightly after its timestamp, so that rounding does not select the previous frame. */
class Videos {
  readonly #given: Given;
  readonly #open = new Map<string, { readonly input: Input; readonly track: Track }>();

  constructor(given: Given) {
    this.#given = given;
  }

  async track(path: string): Promise<Track> {
    const known = this.#open.get(path);
    if (known !== undefined) return known.track;
    const input = new Input({ formats: ALL_FORMATS, source: this.#source(path) });
    try {
      const track = await input.getPrimaryVideoTrack();
      if (track === null || !(await track.canDecode())) throw new RldsError("UNSUPPORTED", "this browser cannot decode the video", { file: path });
      this.#open.set(path, { input, track });
      return track;
    } catch (cause) {
      input.dispose();
      if (cause instanceof RldsError) throw cause;
      throw new RldsError("CORRUPT", `the video cannot be read: ${(cause as Error).message}`, { file: path }, { cause });
    }
  }

  /** Yields one frame per reference, in order. */
  async *frames(references: readonly { readonly path: string; readonly timestamp: number }[]): AsyncGenerator<VideoSample | null, void, undefined> {
    for (let from = 0; from < references.length; ) {
      const { path } = references[from] as { readonly path: string };
      let to = from;
      while (to < references.length && references[to]?.path === path) to++;
      const times = references.slice(from, to).map(({ timestamp }) => timestamp + 1e-3);
      yield* new VideoSampleSink(await this.track(path)).samplesAtTimestamps(times);
      from = to;
    }
  }

  close(): void {
    for (const { input } of this.#open.values()) input.dispose();
    this.#open.clear();
  }

  #source(path: string) {
    if (this.#given.kind === "url") return new UrlSource(fileAddress(this.#given.url, path));
    const file = this.#given.files.find((one) => one.path === path)?.file;
    if (file === undefined) throw new RldsError("NOT_FOUND", "there is no such file", { file: path });
    return new BlobSource(file);
  }
}
