/** Implements the replay buffers on lists, based on the documents, to compute expected results. A frame is a number. */

/** Returns begin and end of windows over `steps` steps. */
export function cuts(steps: number, n: number, shift: number, dropShort: boolean): [number, number][] {
  return Array.from({ length: Math.ceil(steps / shift) }, (_, i): [number, number] => [i * shift, Math.min(i * shift + n, steps)]).filter(
    ([begin, end]) => !dropShort || end - begin === n,
  );
}

export class TwinUniform {
  readonly segments: number[][];
  readonly maxLength: number;
  added = 0;

  constructor(batchSize: number, maxLength: number) {
    this.segments = Array.from({ length: batchSize }, () => []);
    this.maxLength = maxLength;
  }

  add(frames: readonly number[]): void {
    for (const [s, frame] of frames.entries()) this.segments[s] = [...(this.segments[s] as number[]), frame].slice(-this.maxLength);
    this.added++;
  }

  clear(): void {
    for (const s of this.segments.keys()) this.segments[s] = [];
    this.added = 0;
  }

  get first(): number {
    return this.added - (this.segments[0] as number[]).length;
  }

  /** Returns elements as [frames of each row, ids of each row]. */
  pass(k: number | undefined, n: number | undefined, shift: number | undefined, drop: boolean): [number[][], number[][]][] {
    const steps = (this.segments[0] as number[]).length;
    const size = k ?? 1;
    const elements: [number[][], number[][]][] = [];
    for (let from = 0; from < this.segments.length; from += size) {
      const group = this.segments.slice(from, from + size);
      if (group.length < size && drop) continue;
      for (const [begin, end] of cuts(steps, n ?? 1, n === undefined ? 1 : (shift ?? n), drop || k !== undefined)) {
        const ids = group.map((_, i) => Array.from({ length: end - begin }, (_, t) => (from + i) * this.maxLength + this.first + begin + t));
        elements.push([group.map((segment) => segment.slice(begin, end)), ids]);
      }
    }
    return elements;
  }
}

export class TwinEpisodic {
  readonly capacity: number;
  readonly completedOnly: boolean;
  readonly places: ({ id: number; frames: number[]; completed: boolean } | undefined)[];
  last = -1;

  constructor(capacity: number, completedOnly: boolean) {
    this.capacity = capacity;
    this.completedOnly = completedOnly;
    this.places = new Array(capacity).fill(undefined);
  }

  valid(id: number) {
    const place = id < 0 ? undefined : this.places[id % this.capacity];
    return place?.id === id ? place : undefined;
  }

  open(): number {
    this.last++;
    this.places[this.last % this.capacity] = { id: this.last, frames: [], completed: false };
    return this.last;
  }

  /** Returns the id, or undefined if it is stale. */
  addSequence(frames: readonly number[], begins: boolean, ends: boolean, id: number): number | undefined {
    const to = begins || id < 0 ? this.open() : id;
    const episode = this.valid(to);
    if (episode === undefined) return undefined;
    episode.frames.push(...frames);
    episode.completed ||= ends;
    return to;
  }

  addBatch(frames: readonly number[], begins: readonly boolean[], ends: readonly boolean[], ids: readonly number[]): number[] | undefined {
    const opens = ids.map((id, row) => begins[row] === true || id < 0);
    // The id is not assigned yet, even if a row of this batch would assign it.
    if (ids.some((id, row) => !opens[row] && id > this.last)) return undefined;
    if (!ids.some((id, row) => opens[row] || this.valid(id))) return undefined;
    const to = ids.map((id, row) => (opens[row] ? this.open() : id));
    for (const [row, id] of to.entries()) {
      const episode = this.valid(id);
      if (episode === undefined) continue;
      episode.frames.push(frames[row] as number);
      episode.completed ||= ends[row] as boolean;
    }
    return to;
  }

  clear(all: boolean): void {
    for (const place of this.places) if (place !== undefined) Object.assign(place, { frames: [], completed: false });
    if (!all) return;
    this.places.fill(undefined);
    this.last = -1;
  }

  get frames(): number {
    return this.places.reduce((sum, place) => sum + (place?.frames.length ?? 0), 0);
  }

  chosen() {
    return this.places
      .flatMap((place) => (place !== undefined && place.frames.length > 0 && (place.completed || !this.completedOnly) ? [place] : []))
      .sort((a, b) => a.id - b.id);
  }

  /** Returns elements as [frames of each row, id of each row]. */
  pass(k: number | undefined, n: number | undefined, shift: number | undefined, drop: boolean): [number[][], number[]][] {
    const windows = this.chosen().flatMap(({ id, frames }) =>
      cuts(frames.length, n ?? frames.length, n === undefined ? frames.length : (shift ?? n), n !== undefined && (drop || k !== undefined)).map(
        ([begin, end]) => ({ id, frames: frames.slice(begin, end) }),
      ),
    );
    if (k === undefined) return windows.map(({ id, frames }) => [[frames], [id]]);
    const shards = Array.from({ length: k }, (_, shard) => windows.filter(({ id }) => id % k === shard));
    const dealt: typeof windows = [];
    while (shards.some((shard) => shard.length > 0)) for (const shard of shards) dealt.push(...shard.splice(0, 1));
    const elements: [number[][], number[]][] = [];
    for (let i = 0; i < dealt.length; i += k) {
      const part = dealt.slice(i, i + k);
      if (part.length === k || !drop) elements.push([part.map((one) => one.frames), part.map((one) => one.id)]);
    }
    return elements;
  }
}
