/** Where the files of LeRobot's version 3.0 are. */

/** Files of a chunk. */
export const CHUNK_FILES = 1000;

const digits = (n: number) => String(n).padStart(3, "0");

/** `chunk-000` */
export function chunkOf(file: number): string {
  return `chunk-${digits(Math.floor(file / CHUNK_FILES))}`;
}

/** `chunk-000/file-000` */
export function fileName(file: number): string {
  return `${chunkOf(file)}/file-${digits(file % CHUNK_FILES)}`;
}

/** Its two numbers, as tables have them. */
export function splitFileNumber(file: number): readonly [chunk: bigint, file: bigint] {
  return [BigInt(Math.floor(file / CHUNK_FILES)), BigInt(file % CHUNK_FILES)];
}
