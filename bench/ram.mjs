/**
 * Implements a directory in memory, to measure the cost of a journal without a disk. The memory directory of reprise/storage is unsuitable, because it records
 * every call for tests.
 */
export class Ram {
  name = "ram";
  #files = new Map();

  /** @param files files of another Ram directory. A file is copied when it is first written, so that a measurement that only reads allocates nothing here */
  constructor(files = []) {
    for (const [name, bytes] of files) this.#files.set(name, { bytes, size: bytes.length, isShared: true });
  }

  *[Symbol.iterator]() {
    for (const [name, { bytes, size }] of this.#files) yield [name, bytes.subarray(0, size)];
  }

  list() {
    return [...this.#files.keys()];
  }

  open(name, create) {
    if (!this.#files.has(name)) {
      if (!create) throw Object.assign(new Error(`ENOENT: ${name}`), { code: "ENOENT" });
      this.#files.set(name, { bytes: new Uint8Array(1 << 16), size: 0 });
    }
    return new RamFile(this.#files.get(name));
  }

  remove(name) {
    this.#files.delete(name);
  }

  rename(name, to) {
    this.#files.set(to, this.#files.get(name));
    this.#files.delete(name);
  }

  lock() {
    return () => {};
  }
}

class RamFile {
  #file;

  constructor(file) {
    this.#file = file;
  }

  get size() {
    return this.#file.size;
  }

  read(into, at) {
    const part = this.#file.bytes.subarray(at, Math.min(at + into.length, this.#file.size));
    into.set(part);
    return part.length;
  }

  write(from, at) {
    const file = this.#file;
    const end = at + from.length;
    if (end > file.bytes.length || file.isShared) {
      const larger = new Uint8Array(Math.max(end, 2 * file.bytes.length));
      larger.set(file.bytes.subarray(0, file.size));
      file.bytes = larger;
      file.isShared = false;
    }
    file.bytes.set(from, at);
    file.size = Math.max(file.size, end);
    return from.length;
  }

  truncate(bytes) {
    this.#file.size = bytes;
  }

  sync() {}

  close() {}
}
