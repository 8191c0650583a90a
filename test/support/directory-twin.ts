/** Compares a directory with a map of its files under the same random calls. This module uses no APIs of a host, so that it also runs inside workerd. */
import type { Directory, StorageFile } from "../../src/files/directory.ts";
import { TestRandom } from "./random.ts";

const NAMES = ["a", "b.rpr", "00000001.rpr", "with a space"];
/** The lengths of writes: within a page, across pages, and across rows of a megabyte. */
const LENGTHS = [0, 1, 100, 1000, 4096, 5000, 70_000];
const LONG = 1_300_000;

/**
 * Makes random calls on an empty directory, and compares all readable data after each.
 * @param again opens the same place once more, if possible
 * @throws Error with the first difference
 */
export function playDirectory(directory: Directory, seed: number, calls: number, again: () => Directory = () => directory): void {
  const random = new TestRandom(seed);
  const twin = new Map<string, Uint8Array>();
  const open = new Map<string, StorageFile>();
  let current = directory;
  let longest = 1;
  const fileOf = (name: string): StorageFile => {
    const file = open.get(name) ?? current.open(name, !twin.has(name));
    open.set(name, file);
    if (!twin.has(name)) twin.set(name, new Uint8Array(0));
    return file;
  };
  const close = (name: string): void => {
    open.get(name)?.close();
    open.delete(name);
  };
  for (let call = 0; call < calls; call++) {
    const name = random.pick(NAMES);
    const bytes = twin.get(name) ?? new Uint8Array(0);
    const dice = random.next();
    const where = `seed ${seed}, call ${call}, ${name}`;
    if (dice < 0.55) {
      const length = longest > 0 && random.below(60) === 0 ? LONG : random.below(random.pick(LENGTHS) + 1);
      if (length === LONG) longest--;
      const at = random.below(4) > 0 ? bytes.length : random.below(bytes.length + 1);
      const written = new Uint8Array(length);
      for (let i = 0; i < length; i++) written[i] = seed + call + i + (i >> 8);
      writeAll(fileOf(name), written, at, where);
      const next = new Uint8Array(Math.max(bytes.length, at + length));
      next.set(bytes);
      next.set(written, at);
      twin.set(name, next);
    } else if (dice < 0.65) {
      const size = random.below(bytes.length + 1);
      fileOf(name).truncate(size);
      twin.set(name, (twin.get(name) as Uint8Array).slice(0, size));
    } else if (dice < 0.72 && twin.has(name)) {
      close(name);
      current.remove(name);
      twin.delete(name);
    } else if (dice < 0.8 && twin.has(name) && current.rename !== undefined) {
      const to = random.pick(NAMES);
      close(name);
      close(to);
      current.rename(name, to);
      twin.delete(name);
      twin.set(to, bytes);
    } else if (dice < 0.85) {
      for (const one of [...open.keys()]) close(one);
      current = again();
    } else if (twin.has(name)) {
      fileOf(name).sync();
      const at = random.below(bytes.length + 1);
      expectBytes(readAll(fileOf(name), at, random.below(bytes.length + 10), where), bytes.subarray(at), where);
    }
    compare(current, twin, fileOf, where);
  }
  for (const name of [...open.keys()]) close(name);
}

function compare(directory: Directory, twin: ReadonlyMap<string, Uint8Array>, fileOf: (name: string) => StorageFile, where: string): void {
  const names = directory.list().sort().join();
  if (names !== [...twin.keys()].sort().join()) throw new Error(`${where}: the files are ${names}`);
  for (const [name, bytes] of twin) {
    const file = fileOf(name);
    if (file.size !== bytes.length) throw new Error(`${where}: ${name} has ${file.size} bytes, not ${bytes.length}`);
    // Comparing a whole long file each time would take too long.
    const at = Math.max(0, bytes.length - 10_000);
    expectBytes(readAll(file, at, 10_001, where), bytes.subarray(at), `${where}: ${name}`);
  }
}

function writeAll(file: StorageFile, bytes: Uint8Array, at: number, where: string): void {
  for (let done = 0; done < bytes.length; ) {
    const count = file.write(bytes.subarray(done), at + done);
    if (!(count > 0 && count <= bytes.length - done)) throw new Error(`${where}: ${count} bytes were written`);
    done += count;
  }
}

/** Reads the existing bytes, at most `length`. One more read must return none. */
function readAll(file: StorageFile, at: number, length: number, where: string): Uint8Array {
  const into = new Uint8Array(length);
  let done = 0;
  for (let count = -1; count !== 0 && done < length; done += count) {
    count = file.read(into.subarray(done), at + done);
    if (!(count >= 0 && count <= length - done)) throw new Error(`${where}: ${count} bytes were read`);
  }
  return into.subarray(0, done);
}

/** @param wanted the bytes from that position to the end */
function expectBytes(read: Uint8Array, wanted: Uint8Array, where: string): void {
  if (read.length > wanted.length) throw new Error(`${where}: ${read.length} bytes were read of ${wanted.length}`);
  const at = read.findIndex((byte, i) => byte !== wanted[i]);
  if (at >= 0) throw new Error(`${where}: byte ${at} of what was read is ${read[at]}, not ${wanted[at]}`);
}
