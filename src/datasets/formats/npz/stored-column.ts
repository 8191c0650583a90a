/** An array that stands in its archive as it is, read by ranges: nothing of it is kept. */
import { isText, sizeOf } from "../../../schema/leaf.ts";
import type { StepLeaf } from "../../model/dataset.ts";
import { corruptFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { Column } from "../columns/column.ts";
import type { SourceFile } from "../sources/source.ts";
import { Elements } from "./elements.ts";
import { countOf, type Header, headerOf, inArray, type NpyFile } from "./npy.ts";
import { crc32, findEntryStart, type ZipEntry } from "./zip.ts";

/** Of an array's header; most are shorter. */
const HEAD = 512;

export interface StoredOptions {
  /** As the column is called. */
  readonly path: string;
  /** The most bytes of rows that are asked for at once. */
  readonly maxBytes: number;
}

/**
 * The column; undefined for an array that cannot be read by rows: in Fortran's order, or a single value. Its checksum is looked at once it was read from its beginning to its end.
 * @throws RldsError CORRUPT, UNSUPPORTED
 */
export async function storedColumn(file: SourceFile, entry: ZipEntry, array: NpyFile, { path, maxBytes }: StoredOptions): Promise<Column | undefined> {
  const at = await findEntryStart(file, entry);
  let head = new Uint8Array(0);
  let header: Header | undefined;
  for (let length = HEAD; header === undefined; length *= 2) {
    if (head.length === entry.size) throw corruptFile(inArray(array), `breaks off in its header, after ${head.length} bytes`);
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
          `${array.name} has rows of ${neededBytes} bytes at once, more than the ${maxBytes} that maxBytes allows: give a larger one`,
        );
      const bytes = await file.read(at + begin + from * rowBytes, (to - from) * rowBytes);
      if (from === 0) [next, sum] = [0, crc32(head.subarray(0, begin))];
      if (from === next) {
        sum = crc32(bytes, sum);
        next = to;
        if (to === rows && sum !== entry.crc) throw corruptFile(inArray(array), "has another checksum than its bytes");
      }
      const elements = new Elements(type, (to - from) * size, undefined, (what) => corruptFile(inArray(array), what));
      elements.add(bytes);
      return elements.finish();
    },
  });
}
