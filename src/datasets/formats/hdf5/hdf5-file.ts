/** Reads the groups, the datasets (by rows) and the attributes of an HDF5 file. */
import { MAX_GROUP_DEPTH } from "../../../base/file-limits.ts";
import { MAX_LEAVES } from "../../../base/limits.ts";
import { type AnyArray, type Dtype, zeros } from "../../../schema/dtype.ts";
import { sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile, RldsError, unsupportedFile, withRemedy } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Column, type ColumnTree } from "../columns/column.ts";
import type { Attribute } from "../minari/episode-store.ts";
import type { ReadOptions } from "../reader.ts";
import type { SourceFile } from "../sources/source.ts";
import { type Element, elementOf } from "./element.ts";
import { installPlugin, pluginOf } from "./filter-plugins.ts";
import { h5wasm, type Instance, type Library } from "./h5wasm.ts";
import { type Mount, mount, readNow } from "./mount.ts";
import type { H5wasm } from "./package.ts";

/** The numbers of the filters that are built into HDF5: deflate, shuffle, checksums, szip, n-bit and scale-offset. */
const FILTERS = [1, 2, 3, 4, 5, 6];

/**
 * The maximum number of errors that an instance of the library may throw before it is replaced. Each error leaks a little of its stack, which has room for many
 * more errors.
 */
const MAX_THROWN = 100;

/** The maximum number of bytes of rows that the library reads at a time, unless a single chunk is larger. */
const PIECE_BYTES = 2 ** 20;

/** A dataset and the storage of its rows. */
interface RowSource {
  readonly path: string;
  readonly shape: readonly number[];
  readonly element: Element;
  readonly chunkRows: number;
}

/** The number of names that recursive calls have visited so far. */
interface NameCount {
  value: number;
}

/** The kind of an object in an HDF5 file. */
export type Entry = "group" | "dataset";

/** A function that returns whether to read the dataset at a path. */
export type KeepColumn = (path: string) => boolean;

interface Hdf5Handle {
  readonly instance: Instance;
  readonly mount: Mount;
  readonly id: bigint;
}

/** An open HDF5 file. */
export class Hdf5File {
  readonly name: string;
  readonly maxBytes: number;
  readonly #file: SourceFile;
  readonly #read: (at: number, length: number) => Uint8Array;
  #handle?: Hdf5Handle;

  readonly #h5wasm?: H5wasm;

  /**
   * The filter plugins that the columns need. Each value is the beginning of an error message, which names the column. The plugins are installed in every
   * instance of the library.
   */
  readonly #plugins = new Map<string, string>();

  private constructor(file: SourceFile, read: (at: number, length: number) => Uint8Array, { maxBytes, h5wasm }: { maxBytes: number; h5wasm?: H5wasm }) {
    this.name = file.name;
    this.maxBytes = maxBytes;
    this.#file = file;
    this.#read = read;
    this.#h5wasm = h5wasm;
  }

  /**
   * Opens an HDF5 file, and takes ownership of the source file, even if an error is thrown.
   * @throws RldsError CORRUPT if the file is damaged
   * @throws RldsError UNSUPPORTED if h5wasm is missing, or if the file must be read from memory and exceeds maxBytes
   */
  static async open(file: SourceFile, { signal, maxBytes, h5wasm }: ReadOptions & { maxBytes: number; h5wasm?: H5wasm }): Promise<Hdf5File> {
    try {
      const hdf5 = new Hdf5File(file, await readNow(file, maxBytes, signal), { maxBytes, h5wasm });
      await hdf5.#ready();
      return hdf5;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#release();
    await this.#file.close();
  }

  /** Returns the names in a group, in file order. @throws RldsError CORRUPT if the group does not exist or is damaged */
  async names(group: string): Promise<string[]> {
    return this.#call(`the group ${group}`, ({ library, id }) => library.get_names(id, group, false));
  }

  async hasInfos(group: string): Promise<boolean> {
    const path = `/${group}/infos`;
    return (await this.entry(path)) === "group" && (await this.names(path)).length > 0;
  }

  /**
   * Returns the kind of the object at a path, or undefined if there is none.
   * @throws RldsError UNSUPPORTED if the object is a broken link, an external link or a named type
   * @throws RldsError CORRUPT if the file is damaged
   */
  async entry(path: string): Promise<Entry | undefined> {
    return this.#call(path, ({ library, id }) => {
      const type = library.get_type(id, path);
      if (type === library.H5G_GROUP) return "group";
      if (type === library.H5G_DATASET) return "dataset";
      if (type === -1) return undefined;
      throw unsupportedFile({ file: this.name }, `${path} is a broken link, an external link or a named type, which Reprise cannot read`);
    });
  }

  #countNames(names: readonly string[], count: NameCount, group: string): void {
    count.value += names.length;
    // Links between groups can lead to an unlimited number of paths.
    if (count.value > MAX_LEAVES)
      throw unsupportedFile({ file: this.name }, `the links in ${group || "/"} lead to more than ${MAX_LEAVES} groups and datasets`);
  }

  /**
   * Returns the paths of all datasets below a group. Each path is a list of names, relative to the group.
   * @throws RldsError CORRUPT if the file is damaged
   * @throws RldsError UNSUPPORTED if groups are nested too deeply, contain too many names, or contain links that Reprise cannot read
   */
  async datasets(group = "", depth = 0, count: NameCount = { value: 0 }): Promise<string[][]> {
    if (depth > MAX_GROUP_DEPTH) throw unsupportedFile({ file: this.name }, `groups are nested more than ${MAX_GROUP_DEPTH} levels deep at ${group}`);
    const found: string[][] = [];
    const names = await this.names(group || "/");
    this.#countNames(names, count, group);
    for (const name of names) {
      const path = `${group}/${name}`;
      if ((await this.entry(path)) === "dataset") found.push([name]);
      else for (const keys of await this.datasets(path, depth + 1, count)) found.push([name, ...keys]);
    }
    return found;
  }

  /**
   * Returns a dataset, or a group of datasets. As in tuples of Minari, the names `_index_0`, `_index_1` … form an array.
   * @param keeps returns whether to read the dataset at a path. Does not apply to a dataset at `path` itself
   * @throws RldsError CORRUPT if the path does not exist or is damaged
   * @throws RldsError UNSUPPORTED if groups are nested too deeply, contain too many names, or contain objects that Reprise cannot read
   */
  async tree(path: string, keeps: KeepColumn = () => true, depth = 0, count: NameCount = { value: 0 }): Promise<ColumnTree> {
    const entry = await this.entry(path);
    if (entry === undefined) throw corruptFile({ file: this.name }, `the file has no ${path}`);
    if (entry === "dataset") return this.column(path);
    if (depth === MAX_GROUP_DEPTH) throw unsupportedFile({ file: this.name }, `groups are nested more than ${MAX_GROUP_DEPTH} levels deep at ${path}`);
    const nodes = new Map<string, ColumnTree>();
    const names = await this.names(path);
    this.#countNames(names, count, path);
    for (const name of names) {
      const below = `${path}/${name}`;
      if ((await this.entry(below)) === "dataset" && !keeps(below)) continue;
      nodes.set(name, await this.tree(below, keeps, depth + 1, count));
    }
    const tuple = Array.from(nodes, (_, i) => nodes.get(`_index_${i}`));
    return nodes.size > 0 && tuple.every((node) => node !== undefined) ? tuple : Object.fromEntries(nodes);
  }

  /**
   * Returns a dataset as a column.
   * @throws RldsError CORRUPT if the dataset is damaged, or if a row or chunk exceeds maxBytes
   * @throws RldsError UNSUPPORTED if its type, a filter or its kind of storage is not supported
   */
  async column(path: string): Promise<Column> {
    try {
      return await this.#column(path);
    } catch (error) {
      throw withRemedy(error, [path.replace(/^\/(episode_\d+\/)?/, "")]);
    }
  }

  async #column(path: string): Promise<Column> {
    const { type, filters } = await this.#call(path, ({ library, id }) => ({
      type: library.get_dataset_metadata(id, path),
      filters: library.get_dataset_filters(id, path),
    }));
    const unsupported = (subject: string) => unsupportedFile({ file: this.name }, `${path} ${subject}`);
    for (const { id, name } of filters) {
      if (FILTERS.includes(id)) continue;
      const plugin = pluginOf(id);
      if (plugin === undefined)
        throw unsupported(`is compressed with ${name || "an unknown codec"} (filter ${id}), which Reprise cannot read. Write the file again with gzip`);
      await this.#install(plugin, `${path} is compressed with ${plugin}`);
    }
    if (type.virtual_sources !== undefined) throw unsupported("is a virtual dataset, whose rows are in other files. Copy the rows into this file");
    if (type.shape === null) throw unsupported("is a null dataset, which has no rows");
    const element = elementOf(type, this.name, path);
    const { shape } = type;
    const row = shape.slice(1);
    const rowBytes = sizeOf(row) * element.bytes;
    const chunkRows = Math.max(1, type.chunks?.[0] ?? 1);
    this.#checkBytes(path, Math.max(sizeOf(type.chunks ?? []), sizeOf(row)) * Math.max(element.bytes, 1) * sizeOf(element.shape));
    return new Column({
      path: path.replace(/^\//, ""),
      leaf: { dtype: element.dtype, shape: [...row, ...element.shape] } as StepLeaf,
      rows: shape.length === 0 ? undefined : (shape[0] as number),
      rowBytes,
      chunkRows,
      read: (from, to, target) => this.#rows({ path, shape, element, chunkRows }, from, to, element.isNumeric ? (target as AnyArray | undefined) : undefined),
    });
  }

  /**
   * Returns the attributes of a group, except attributes without a value.
   * @throws RldsError CORRUPT if an attribute is damaged or exceeds maxBytes
   * @throws RldsError UNSUPPORTED if the type of an attribute is not supported
   */
  async attributes(path: string): Promise<Map<string, Attribute>> {
    const attributes = new Map<string, Attribute>();
    const names = await this.#call(`the attributes of ${path}`, ({ library, id }) => library.get_attribute_names(id, path));
    for (const name of names) {
      const subject = `the attribute ${name} of ${path}`;
      const attribute = await this.#call(subject, ({ instance, library, id, mount }) => {
        const type = library.get_attribute_metadata(id, path, name);
        if (type.shape === null) return undefined;
        const element = elementOf(type, this.name, subject);
        const data = this.#elements(library, subject, element, sizeOf(type.shape), {
          read: (at) => this.#checkStatus(library.get_attribute_data(id, path, name, BigInt(at)), subject, instance, mount),
          reclaim: (at) => library.reclaim_vlen_memory(id, path, name, BigInt(at)),
        });
        return { leaf: { dtype: element.dtype, shape: [...type.shape, ...element.shape] } as StepLeaf, data };
      });
      if (attribute !== undefined) attributes.set(name, attribute);
    }
    return attributes;
  }

  /** Returns the open file in the library. Opens it if it is not open, or if its instance of the library is broken. */
  async #ready(): Promise<Hdf5Handle> {
    if (this.#handle !== undefined && this.#handle.instance.cause === undefined) return this.#handle;
    this.#release();
    const instance = await h5wasm(this.#h5wasm);
    const { library } = instance;
    for (const [plugin, subject] of this.#plugins) await installPlugin(library, plugin, subject);
    const mounted = mount(library, this.#file, this.#read);
    const id = this.#guard("the file", instance, () => library.open(mounted.path, library.H5F_ACC_RDONLY, false, -1, -1));
    if (id < 0n) {
      mounted.unmount();
      this.#checkStatus(-1, "the file", instance, mounted);
    }
    this.#handle = { instance, mount: mounted, id };
    return this.#handle;
  }

  async #install(plugin: string, subject: string): Promise<void> {
    const { instance } = await this.#ready();
    try {
      await installPlugin(instance.library, plugin, subject);
    } catch (error) {
      throw error instanceof RldsError ? unsupportedFile({ file: this.name }, error.message, error.cause) : error;
    }
    this.#plugins.set(plugin, subject);
  }

  #release(): void {
    const handle = this.#handle;
    this.#handle = undefined;
    if (handle === undefined || handle.instance.cause !== undefined) return;
    try {
      handle.instance.library.close_file(handle.id);
      handle.mount.unmount();
    } catch (error) {
      handle.instance.cause = error;
    }
  }

  async #call<T>(subject: string, call: (handle: Hdf5Handle & { readonly library: Library }) => T): Promise<T> {
    const handle = await this.#ready();
    return this.#guard(subject, handle.instance, () => call({ ...handle, library: handle.instance.library }));
  }

  /**
   * Runs a call into the library. An exception that the library did not throw itself, such as a trap, has interrupted its code, so it breaks the instance. Too
   * many errors of the library itself also break the instance.
   * @throws RldsError CORRUPT with the reason, instead of any other error
   */
  #guard<T>(subject: string, instance: Instance, call: () => T): T {
    try {
      return call();
    } catch (cause) {
      if (cause instanceof RldsError) throw cause;
      const isLibraryError = cause instanceof Error && cause.message.startsWith("error - ");
      if (!isLibraryError || ++instance.errorCount > MAX_THROWN) instance.cause = cause ?? "unknown error";
      const reason = cause instanceof Error && !isLibraryError ? cause.message : instance.lastMessage();
      throw corruptFile({ file: this.name }, `HDF5 cannot read ${subject}: ${reason}`, cause);
    }
  }

  #checkStatus(status: number, subject: string, instance: Instance, mount: Mount): void {
    const message = instance.lastMessage();
    if (status >= 0) return;
    if (mount.failure !== undefined) throw mount.failure;
    throw corruptFile({ file: this.name }, `HDF5 cannot read ${subject}: ${message}`);
  }

  #checkBytes(path: string, bytes: number): void {
    if (bytes > this.maxBytes)
      throw corruptFile({ file: this.name }, `${path} needs ${bytes} bytes, more than the ${this.maxBytes} that maxBytes allows. Increase maxBytes`);
  }

  /** Reads rows of a dataset. A large number of rows is read in pieces, because the memory of the library never shrinks. */
  async #rows({ path, shape, element, chunkRows }: RowSource, from: number, to: number, target?: AnyArray): Promise<ColumnData> {
    const rowBytes = sizeOf(shape.slice(1)) * element.bytes;
    this.#checkBytes(path, shape.length === 0 ? element.bytes : (to - from) * rowBytes);
    const pieceRows = pieceRowsOf(rowBytes, chunkRows);
    if (shape.length === 0 || to - from <= pieceRows) return this.#piece(path, shape, element, from, to, target);
    const ranges = pieceRanges(from, to, pieceRows, chunkRows);
    if (element.isNumeric) {
      const rowElements = sizeOf(shape.slice(1)) * sizeOf(element.shape);
      const all = target ?? zeros(element.dtype as Dtype, (to - from) * rowElements);
      for (const [at, end] of ranges) await this.#piece(path, shape, element, at, end, all.subarray((at - from) * rowElements, (end - from) * rowElements));
      return all;
    }
    const pieces: ColumnData[] = [];
    for (const [at, end] of ranges) pieces.push(await this.#piece(path, shape, element, at, end));
    return pieces.flat() as ColumnData;
  }

  async #piece(path: string, shape: readonly number[], element: Element, from: number, to: number, target?: AnyArray): Promise<ColumnData> {
    const [count, offset, stride] = [[to - from, ...shape.slice(1)], [from, ...shape.slice(1).fill(0)], shape.map(() => 1)].map((list) => list.map(BigInt));
    const n = shape.length === 0 ? 1 : (to - from) * sizeOf(shape.slice(1));
    return this.#call(path, ({ instance, library, id, mount }) => {
      const selected = shape.length === 0 ? ([null, null, null] as [null, null, null]) : ([count, offset, stride] as [bigint[], bigint[], bigint[]]);
      return this.#elements(library, path, element, n, {
        target,
        read: (at) => this.#checkStatus(library.get_dataset_data(id, path, selected[0], selected[1], selected[2], BigInt(at)), path, instance, mount),
        reclaim: (at) =>
          shape.length === 0
            ? library.reclaim_vlen_memory(id, path, "", BigInt(at))
            : library.reclaim_vlen_memory_count(id, path, "", BigInt(at), count as bigint[]),
      });
    });
  }

  /**
   * Allocates n elements in the memory of the library, reads and copies them, and frees the memory. @param target receives the elements of a numeric type.
   * Undefined to return a new array
   */
  #elements(
    library: Library,
    subject: string,
    element: Element,
    n: number,
    { read, reclaim, target }: { read(at: number): void; reclaim(at: number): void; readonly target?: AnyArray | undefined },
  ): ColumnData {
    const bytes = n * element.bytes;
    this.#checkBytes(subject, bytes);
    if (bytes === 0) return element.decode(new Uint8Array(0), library);
    const at = bytes > library.MAXIMUM_MEMORY ? 0 : library._malloc(bytes);
    if (at === 0) throw corruptFile({ file: this.name }, `${subject} needs ${bytes} bytes, more than HDF5 can allocate`);
    try {
      // The memory is cleared, because a read that fails halfway must not leave invalid pointers for `reclaim`.
      library.HEAPU8.fill(0, at, at + bytes);
      read(at);
      if (target === undefined) return element.decode(library.HEAPU8.slice(at, at + bytes) as Uint8Array<ArrayBuffer>, library);
      (target as Float64Array).set(element.decode(library.HEAPU8.subarray(at, at + bytes) as Uint8Array<ArrayBuffer>, library) as Float64Array);
      return target;
    } finally {
      if (element.allocates) reclaim(at);
      library._free(at);
    }
  }
}

/** Returns the number of rows that are read at a time: as many whole chunks as fit into PIECE_BYTES, but at least one chunk. */
function pieceRowsOf(rowBytes: number, chunkRows: number): number {
  return chunkRows * Math.max(1, Math.floor(PIECE_BYTES / Math.max(rowBytes * chunkRows, 1)));
}

/** Divides rows at the boundaries of chunks, so no chunk of the file is decompressed twice. */
function* pieceRanges(from: number, to: number, pieceRows: number, chunkRows: number): Generator<[from: number, to: number], void> {
  for (let at = from; at < to; ) {
    const end = Math.min(to, Math.floor(at / chunkRows) * chunkRows + pieceRows);
    yield [at, end];
    at = end;
  }
}
