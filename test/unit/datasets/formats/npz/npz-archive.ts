/** Creates archives of NumPy arrays that NumPy itself would not write. */
import { crc32, deflateRawSync } from "node:zlib";

interface Entry {
  readonly name: string;
  readonly header: string;
  /** The number of elements, which are zeros unless `byte` is set. */
  readonly elements: number;
  readonly byte?: number;
}

/** Returns an archive whose arrays repeat one byte. */
export function archive(...entries: readonly Entry[]): Uint8Array<ArrayBuffer> {
  return zip(entries.map(({ name, header, elements, byte = 0 }) => ({ name, bytes: npy(header, Buffer.alloc(elements, byte)), isDeflated: true })));
}

export const npyHeader = (descr: string, shape: string) => `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`;

type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array;

/** Returns an archive in the form of `numpy.savez`, without compression; arrays of bytes are stored as booleans. */
export function storedArchive(arrays: { readonly [name: string]: readonly [data: Numbers, shape: readonly number[]] }): Uint8Array<ArrayBuffer> {
  return zip(
    Object.entries(arrays).map(([name, [data, shape]]) => {
      const descr = data instanceof Uint8Array ? "|b1" : data instanceof Float32Array ? "<f4" : data instanceof Float64Array ? "<f8" : "<i4";
      const elements = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      return { name: `${name}.npy`, bytes: npy(npyHeader(descr, `(${shape.join(", ")},)`), elements), isDeflated: false };
    }),
  );
}

function npy(header: string, elements: Buffer): Buffer {
  const text = Buffer.from(`${header}\n`, "latin1");
  return Buffer.concat([Buffer.from("\x93NUMPY\x01\0", "latin1"), Buffer.from([text.length & 255, text.length >> 8]), text, elements]);
}

function zip(files: readonly { readonly name: string; readonly bytes: Buffer; readonly isDeflated: boolean }[]): Uint8Array<ArrayBuffer> {
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, bytes, isDeflated } of files) {
    const packed = isDeflated ? deflateRawSync(bytes) : bytes;
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(isDeflated ? 8 : 0, 10);
    entry.writeUInt32LE(crc32(bytes), 16);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(bytes.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    local.push(head, Buffer.from(name), packed);
    directory.push(entry, Buffer.from(name));
    at += 30 + name.length + packed.length;
  }
  const size = directory.reduce((all, part) => all + part.length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return new Uint8Array(Buffer.concat([...local, ...directory, end]));
}
