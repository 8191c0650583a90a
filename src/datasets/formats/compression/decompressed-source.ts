/** Opens sources in which a single file may be compressed as a whole. */
import { MAX_SOURCE_BYTES } from "../../../base/file-limits.ts";
import { type Source, type SourceOptions, sourceOf } from "../sources/open-source.ts";
import type { SourceTarget } from "../sources/source.ts";
import { decompressedFile } from "./compressed-file.ts";

/** A source in which a single file is presented in decompressed form. */
export type DecompressedTarget = SourceTarget & { readonly wasCompressed: boolean };

/**
 * Opens a source. If the source is a single compressed file, decompresses that file.
 * @throws RldsError CORRUPT if a compressed file is damaged, or if its content is not text and takes more than maxBytes
 * @throws the errors of `sourceOf`
 */
export async function decompressedSource(from: Source, options: SourceOptions & { readonly salvage?: boolean } = {}): Promise<DecompressedTarget> {
  const { maxBytes = MAX_SOURCE_BYTES, signal, fetch, salvage } = options;
  const target = await sourceOf(from, { signal, fetch, maxBytes });
  const { file } = target;
  if (file === undefined) return { ...target, wasCompressed: false };
  try {
    const whole = await decompressedFile(file, { maxBytes, ...(signal && { signal }), ...(salvage !== undefined && { salvage }) });
    return { file: whole ?? file, wasCompressed: whole !== undefined };
  } catch (error) {
    await file.close();
    throw error;
  }
}
