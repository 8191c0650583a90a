/** Determines whether a Replay or a recorder wrote the log in a folder, from the manifests in the headers of its segments. */
import { dataView } from "../../base/bytes.ts";
import { MAX_MANIFEST_BYTES } from "../../base/file-limits.ts";
import { decodeTagged } from "../../storage/decode.ts";
import { MAGIC, SECTION_BYTES } from "../../storage/format/section.ts";
import { openIfExists, type SourceFile, type SourceFolder } from "./sources/source.ts";

/**
 * Returns the kind of log according to the oldest segment with a manifest. If no segment has a manifest, returns "replay", and the attempt to open the Replay
 * reports the fault. @param paths the paths of the segments, oldest first
 */
export async function findOwner(folder: SourceFolder, paths: readonly string[]): Promise<"replay" | "recording"> {
  for (const path of paths) {
    // The owner may have removed the segment in the meantime.
    const segment = await openIfExists(folder, path, { grows: true });
    const owner = segment && (await logOwner(segment).finally(() => segment.close()));
    if (owner !== undefined) return owner;
  }
  return "replay";
}

/** Returns the kind of log according to one segment. Returns undefined if the manifest is incomplete or damaged. */
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
