/** Creates an HDF5 file in the memory of the library. */
import type { Metadata } from "h5wasm";
import { arrayDtype, DTYPES, type Dtype } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { StagedFile } from "../sinks/staging.ts";
import { type FileNode, freePath, h5wasm, type Instance } from "./h5wasm.ts";
import { clearTimes } from "./header-times.ts";
import type { H5wasm } from "./package.ts";

/** The numbers of the HDF5 type classes. */
const [INTEGER, FLOAT, STRING] = [0, 1, 3] as const;
/** The maximum number of bytes of the file that are passed to the sink at a time. */
const PIECE_BYTES = 2 ** 20;
/** The maximum number of bytes of an attribute. The head of a group contains its attributes and has room for 64 KiB, part of which HDF5 itself needs. */
export const MAX_ATTRIBUTE_BYTES = 60_000;

type TypeMetadata = Pick<Metadata, "type" | "size" | "signed" | "vlen" | "littleEndian"> & { readonly cset?: number };

/** An HDF5 file that is being written in memory. */
export class Hdf5Writer {
  readonly #instance: Instance;
  readonly #path: string;
  readonly #node: FileNode;
  readonly #id: bigint;
  #isOpen = true;

  /**
   * Creates an empty file.
   * @throws RldsError UNSUPPORTED if h5wasm is missing or cannot be loaded
   * @throws RldsError IO if the library cannot create the file
   */
  static async of(customPackage: H5wasm | undefined): Promise<Hdf5Writer> {
    return new Hdf5Writer(await h5wasm(customPackage));
  }

  private constructor(instance: Instance) {
    const { library } = instance;
    this.#instance = instance;
    this.#path = freePath(library.FS, "/reprise-written-", ".hdf5");
    this.#node = library.FS.createFile("/", this.#path.slice(1), {}, true, true);
    this.#id = this.#guard("the file", () => library.open(this.#path, library.H5F_ACC_TRUNC, false, -1, -1));
    if (this.#id < 0n) throw this.#error("the file", instance.lastMessage());
  }

  /** The approximate number of bytes in the file so far. */
  get bytes(): number {
    return this.#node.usedBytes;
  }

  group(path: string): void {
    this.#check(path, () => this.#instance.library.create_group(this.#id, path, false));
  }

  /**
   * Adds a dataset of rows. The parent groups must exist.
   * @throws RldsError IO if the library fails
   * @throws RldsError UNSUPPORTED if the library cannot allocate enough memory
   */
  dataset(path: string, leaf: StepLeaf, data: ColumnData, rows: number): void {
    const shape = [rows, ...leaf.shape].map(BigInt);
    const { library } = this.#instance;
    const metadata = { ...typeOf(leaf), shape, maxshape: shape, chunks: null, compression: 0, compression_opts: [], track_order: false } as never;
    this.#check(path, () => {
      if (isText(leaf)) return library.create_vlen_str_dataset(this.#id, path, data as string[], metadata);
      return this.#withBytes(path, data, (at) => library.create_dataset(this.#id, path, BigInt(at), metadata));
    });
  }

  /**
   * Adds an attribute, which is a single value or an array, to a group.
   * @throws RldsError IO if the library fails
   * @throws RldsError UNSUPPORTED if the library cannot allocate enough memory
   */
  attribute(group: string, name: string, leaf: StepLeaf, data: ColumnData): void {
    const shape = leaf.shape.map(BigInt);
    const subject = `the attribute ${name} of ${group}`;
    const { library } = this.#instance;
    const metadata = { ...typeOf(leaf), shape, maxshape: shape } as never;
    this.#check(subject, () => {
      if (isText(leaf)) return library.create_vlen_str_attribute(this.#id, group, name, data as string[], metadata);
      return this.#withBytes(subject, data, (at) => library.create_attribute(this.#id, group, name, BigInt(at), metadata));
    });
  }

  /** Closes the HDF5 file and copies its bytes to a file of the sink. @throws RldsError IO if the library fails, or if the file cannot be written */
  async copyTo(file: StagedFile): Promise<void> {
    this.#check("the file", () => this.#instance.library.close_file(this.#id));
    this.#isOpen = false;
    const { contents, usedBytes } = this.#node;
    const bytes = (contents ?? new Uint8Array(0)).subarray(0, usedBytes);
    clearTimes(bytes);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) await file.write(bytes.subarray(at, at + PIECE_BYTES));
  }

  /** Frees the memory of the file. Never throws, because it may be called after a failure. */
  release(): void {
    if (this.#instance.cause !== undefined) return;
    try {
      if (this.#isOpen) this.#instance.library.close_file(this.#id);
      this.#isOpen = false;
      this.#instance.library.FS.unlink(this.#path);
    } catch (error) {
      this.#instance.cause = error;
    }
  }

  /**
   * Copies elements into the memory of the library for the duration of `use`, which receives their address. @throws RldsError UNSUPPORTED if the memory cannot
   * be allocated
   */
  #withBytes(subject: string, data: ColumnData, use: (at: number) => number): number {
    const { buffer, byteOffset, byteLength } = data as unknown as Uint8Array;
    const { library } = this.#instance;
    const at = library._malloc(Math.max(byteLength, 1));
    if (at === 0)
      throw new RldsError("UNSUPPORTED", `${subject} needs ${byteLength} bytes, more than HDF5 can allocate. Write shorter episodes, or write Parquet`);
    try {
      library.HEAPU8.set(new Uint8Array(buffer, byteOffset, byteLength), at);
      return use(at);
    } finally {
      library._free(at);
    }
  }

  #check(subject: string, call: () => number): void {
    const status = this.#guard(subject, call);
    if (status < 0) throw this.#error(subject, this.#instance.lastMessage());
  }

  /**
   * Runs a call into the library. An exception breaks the instance of the library, so the next file uses a new instance. @throws RldsError IO instead of any
   * other error
   */
  #guard<T>(subject: string, call: () => T): T {
    try {
      return call();
    } catch (cause) {
      if (cause instanceof RldsError) throw cause;
      this.#instance.cause = cause ?? "unknown error";
      throw this.#error(subject, cause instanceof Error ? cause.message : String(cause), cause);
    }
  }

  #error(subject: string, reason: string, cause?: unknown): RldsError {
    return new RldsError("IO", `HDF5 cannot write ${subject}: ${reason}`, {}, { cause });
  }
}

/** Returns the HDF5 type of the elements of a leaf. Flags are stored as bytes, and f16 and bf16 as f32, because h5wasm cannot create their types. */
function typeOf(leaf: StepLeaf): TypeMetadata {
  if (isText(leaf)) return { type: STRING, size: 4, signed: false, vlen: true, littleEndian: true, cset: 1 };
  const { float, min, array } = DTYPES[arrayDtype(leaf.dtype) as Dtype];
  return { type: float ? FLOAT : INTEGER, size: array.BYTES_PER_ELEMENT, signed: !float && min < 0, vlen: false, littleEndian: true };
}
