/** Reads ranges of an uncompressed array in an archive, without caching. */
import { isText, sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Column } from "../columns/column.ts";
import type { SourceFile } from "../sources/source.ts";
import { Elements } from "./elements.ts";
import { arrayError, countOf, type Header, headerOf, type NpyFile } from "./npy.ts";
import { crc32, findEntryStart, type ZipEntry } from "./zip.ts";

/** The number of bytes that are read first for an array's header. Longer headers need further reads. */
const HEAD = 512;

export interface StoredOptions {
  /** The path of the column. */
  readonly path: string;
  /** The maximum size of rows that are read together, in bytes. */
  readonly maxBytes: number;
}

/**
 * Returns the column. Returns undefined for an array that cannot be read by rows, which is an array in Fortran order or a single value. The checksum is
 * verified only if the whole array is read in order.
 * @throws RldsError CORRUPT if the array is damaged · UNSUPPORTED if Reprise cannot read its elements
 */
export async function storedColumn(file: SourceFile, entry: ZipEntry, array: NpyFile, { path, maxBytes }: StoredOptions): Promise<Column | undefined> {
  const at = await findEntryStart(file, entry);
  let head = new Uint8Array(0);
  let header: Header | undefined;
  for (let length = HEAD; header === undefined; length *= 2) {
    if (head.length === entry.size) throw arrayError(array, `ends within its header, after ${head.length} bytes`);
    head = new Uint8Array(await file.read(at, Math.min(length, entry.size)));
    header = headerOf(head, array);
  }
  const { type, shape, fortran, begin } = header;
  countOf(header, array);
  const [rows, ...row] = shape;
  if (rows === undefined || (fortran && row.length > 0)) return undefined;
  const leaf = { dtype: type.dtype, shape: row } as StepLeaf;
  const size = sizeOf(row);
  const rowBytes = size * type.bytes;
  let [next, sum] = [0, 0];
  return new Column({
    path,
    leaf,
    rows,
    rowBytes: isText(leaf) ? 16 * size : size * type.memoryBytes,
    async read(from: number, to: number): Promise<ColumnData> {
      const neededBytes = (to - from) * size * type.memoryBytes;
      if (neededBytes > maxBytes)
        throw corruptFile(
          { file: file.name },
          `the requested rows of ${array.name} take ${neededBytes} bytes, more than the ${maxBytes} that maxBytes allows. Increase maxBytes`,
        );
      const bytes = await file.read(at + begin + from * rowBytes, (to - from) * rowBytes);
      if (from === 0) [next, sum] = [0, crc32(head.subarray(0, begin))];
      if (from === next) {
        sum = crc32(bytes, sum);
        next = to;
        if (to === rows && sum !== entry.crc) throw corruptFile({ file: file.name }, `the checksum of ${array.name} does not match its bytes`);
      }
      const elements = new Elements(type, (to - from) * size, undefined, (what) => arrayError(array, what));
      elements.add(bytes);
      return elements.finish();
    },
  });
}
