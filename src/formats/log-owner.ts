/** Whose log a folder has: the manifest in the head of each segment says it. */
import { MAGIC, SECTION_BYTES } from "../store/format/section.ts";
import { decodeTagged } from "../store/untagged.ts";
import type { SourceFile } from "./sources/source.ts";

/** A manifest with a large spec has some kilobytes. */
const MOST_BYTES = 1 << 20;

/** By one of its segments. What cannot be read is left to the Replay's opener, which says what is wrong with it. */
export async function logOwner(segment: SourceFile): Promise<"replay" | "recording"> {
  const from = MAGIC.length + SECTION_BYTES;
  if (segment.size < from) return "replay";
  const begin = await segment.read(0, from);
  const bytes = new DataView(begin.buffer, begin.byteOffset).getUint32(MAGIC.length + 8, true);
  if (bytes > Math.min(MOST_BYTES, segment.size - from)) return "replay";
  try {
    const { about } = decodeTagged(await segment.read(from, bytes)) as { readonly about?: { readonly content?: unknown } };
    return about?.content === "recording" ? "recording" : "replay";
  } catch {
    return "replay";
  }
}
