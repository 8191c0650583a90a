/** Defines the names of LeRobot's chunks, which are folders, and of the files of version 3.0 in these folders. */

/** The maximum number of files per chunk. */
export const CHUNK_FILES = 1000;

const digits = (n: number) => String(n).padStart(3, "0");

/** Returns the name of the chunk that contains a file, such as `chunk-000`. */
export function chunkOf(file: number): string {
  return `chunk-${digits(Math.floor(file / CHUNK_FILES))}`;
}

/** Returns the name of a file with its chunk and without its extension, such as `chunk-000/file-000`. */
export function fileName(file: number): string {
  return `${chunkOf(file)}/file-${digits(file % CHUNK_FILES)}`;
}

/** Returns the numbers of the chunk and of the file in the chunk, as tables store them. */
export function splitFileNumber(file: number): readonly [chunk: bigint, file: bigint] {
  return [BigInt(Math.floor(file / CHUNK_FILES)), BigInt(file % CHUNK_FILES)];
}
