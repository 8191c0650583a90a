/** Whose log a folder has: the manifest in the head of each segment says it. */
import { dataView } from "../../base/bytes.ts";
import { MAX_MANIFEST_BYTES } from "../../base/file-limits.ts";
import { decodeTagged } from "../../storage/decode.ts";
import { MAGIC, SECTION_BYTES } from "../../storage/format/section.ts";
import { openIfExists, type SourceFile, type SourceFolder } from "./sources/source.ts";

/** By the oldest segment that says it. What none says is left to the Replay's opener, which says what is wrong with it. @param paths of segments, oldest first */
export async function findOwner(folder: SourceFolder, paths: readonly string[]): Promise<"replay" | "recording"> {
  for (const path of paths) {
    // Its owner may just have given it back.
    const segment = await openIfExists(folder, path, { grows: true });
    const owner = segment && (await logOwner(segment).finally(() => segment.close()));
    if (owner !== undefined) return owner;
  }
  return "replay";
}

/** By one of its segments; undefined where it cannot be read, or has not begun yet. */
export async function logOwner(segment: SourceFile): Promise<"replay" | "recording" | undefined> {
  const from = MAGIC.length + SECTION_BYTES;
  if (segment.size < from) return undefined;
  const begin = await segment.read(0, from);
  const bytes = dataView(begin).getUint32(MAGIC.length + 8, true);
  if (bytes > Math.min(MAX_MANIFEST_BYTES, segment.size - from)) return undefined;
  try {
    const { about } = decodeTagged(await segment.read(from, bytes)) as { readonly about?: { readonly content?: unknown } };
    return about?.content === "recording" ? "recording" : "replay";
  } catch {
    return undefined;
  }
}
