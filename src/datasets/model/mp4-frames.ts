/** Counts the frames of an mp4 file using the sample table of its first video track. The frames themselves are not read. */

/** A file with random access. */
interface FilmFile {
  readonly size: number;
  read(at: number, length: number): Promise<Uint8Array>;
}

/** The maximum size of a box that is read, in bytes. Sample tables are smaller. */
const MAX_BOX_BYTES = 2 ** 28;

interface Box {
  readonly type: string;
  /** The offset of the box's content. `to` is the end of the content. */
  readonly from: number;
  readonly to: number;
}

/** Returns the number of frames. @throws Error if the file is not an mp4 file or contains no video */
export async function mp4Frames(file: FilmFile): Promise<number> {
  let track: VideoTrack | undefined;
  let fragmentFrames = 0;
  for (let at = 0; at < file.size; ) {
    const head = await file.read(at, Math.min(16, file.size - at));
    const box = boxAt(viewOf(head), 0, file.size - at);
    if (box.type === "moov" || box.type === "moof") {
      if (box.to - box.from > MAX_BOX_BYTES) throw new Error(`the box ${box.type} is too large`);
      const content = viewOf(await file.read(at + box.from, box.to - box.from));
      if (box.type === "moov") track = videoTrack(content);
      else if (track !== undefined) fragmentFrames += framesOfFragment(content, track.id);
    }
    at += box.to;
  }
  if (track === undefined) throw new Error("the file is not an MP4 file with a video");
  return track.frames + fragmentFrames;
}

interface VideoTrack {
  readonly id: number;
  readonly frames: number;
}

function videoTrack(moov: DataView): VideoTrack | undefined {
  for (const trak of boxesIn(moov)) {
    if (trak.type !== "trak") continue;
    const parts = viewOfBox(moov, trak);
    const media = find(parts, "mdia");
    const handler = media && find(media, "hdlr");
    if (media === undefined || handler === undefined || textAt(handler, 8) !== "vide") continue;
    const header = find(parts, "tkhd");
    const minf = find(media, "minf");
    const table = minf && find(minf, "stbl");
    const sizes = table && (find(table, "stsz") ?? find(table, "stz2"));
    if (header === undefined || sizes === undefined) throw new Error("the video has no sample table");
    // Version 1 has 64-bit times before the track number.
    return { id: header.getUint32(header.getUint8(0) === 1 ? 20 : 12), frames: sizes.getUint32(8) };
  }
  return undefined;
}

/** Counts the samples of a track in a fragment. */
function framesOfFragment(moof: DataView, track: number): number {
  let frames = 0;
  for (const traf of boxesIn(moof)) {
    if (traf.type !== "traf") continue;
    const parts = viewOfBox(moof, traf);
    if (find(parts, "tfhd")?.getUint32(4) !== track) continue;
    for (const run of boxesIn(parts)) if (run.type === "trun") frames += viewOfBox(parts, run).getUint32(4);
  }
  return frames;
}

function find(parent: DataView, type: string): DataView | undefined {
  for (const box of boxesIn(parent)) if (box.type === type) return viewOfBox(parent, box);
  return undefined;
}

function* boxesIn(parent: DataView): Generator<Box, void> {
  for (let at = 0; at + 8 <= parent.byteLength; ) {
    const box = boxAt(parent, at, parent.byteLength - at);
    yield { type: box.type, from: at + box.from, to: at + box.to };
    at += box.to;
  }
}

/** Parses the header of a box. @param room the number of bytes from `at` on @throws Error, RangeError if the size is not valid */
function boxAt(view: DataView, at: number, room: number): Box {
  const size = view.getUint32(at);
  const type = textAt(view, at + 4);
  const [from, to] = size === 1 ? [16, Number(view.getBigUint64(at + 8))] : [8, size === 0 ? room : size];
  if (!(to >= from && to <= room)) throw new Error(`the box ${JSON.stringify(type)} does not fit in the file`);
  return { type, from, to };
}

function textAt(view: DataView, at: number): string {
  return String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function viewOfBox({ buffer, byteOffset }: DataView, { from, to }: Box): DataView {
  return new DataView(buffer, byteOffset + from, to - from);
}
