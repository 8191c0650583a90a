/** Decodes a sample from a server into an item: decompresses the columns, and sorts them in the order of the table's signature. */

import { ReplayError } from "../base/error.ts";
import { leaves } from "../schema/nest.ts";
import type { DrawnColumn, DrawnItem } from "../tf-agents/sampling/sample.ts";
import { Chunks } from "./tensors/columns.ts";
import type { WireSignature } from "./tensors/signature.ts";
import type { SampleInfoMessage } from "./wire/item.ts";
import type { ChunkMessage } from "./wire/tensor.ts";

/** A sample as received, still compressed. */
export interface PackedItem {
  readonly info: SampleInfoMessage;
  readonly chunks: readonly ChunkMessage[];
}

/**
 * Decodes a sample. O(bytes + slices)
 * @param maxBytes the maximum decompressed size of the sample
 * @throws ReplayError CORRUPT if the data is inconsistent · UNSUPPORTED if Reprise cannot read a data type · OUT_OF_MEMORY if the sample exceeds `maxBytes`.
 * The message names the column
 */
export function decodeItem({ info: { item, probability, tableSize }, chunks }: PackedItem, signature: WireSignature | undefined, maxBytes: number): DrawnItem {
  const read = new Chunks(chunks, maxBytes);
  const { length } = item.columns;
  const matchingSignature = signature?.order.length === length ? signature : undefined;
  const columns = new Array<DrawnColumn>(length);
  for (let i = 0; i < length; i++) {
    const index = matchingSignature?.order[i] ?? i;
    try {
      columns[index] = read.column(item.columns[i] as (typeof item.columns)[number]);
    } catch (error) {
      throw withColumn(error, item.table, (matchingSignature && leaves(matchingSignature.nest)[index]?.keys.join(".")) || String(i));
    }
  }
  return { info: { key: item.key, probability, tableSize, priority: item.priority, timesSampled: item.timesSampled }, columns };
}

function withColumn(error: unknown, table: string, column: string): unknown {
  if (!(error instanceof ReplayError)) return error;
  const remedy = error.code === "OUT_OF_MEMORY" ? ". Increase maxMessageBytes, or write items of fewer steps" : "";
  const located = new ReplayError(error.code, `column ${column} of table ${table}: ${error.message}${remedy}`);
  located.cause = error;
  return located;
}
