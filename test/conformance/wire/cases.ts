/** Compares recorded messages of Reverb with the corresponding Python values: folders with *.bin files, `decoded.json` and `expected.json`. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Chunks, type ItemColumn } from "../../../src/reverb/tensors/columns.ts";
import type { ItemMessage } from "../../../src/reverb/wire/item.ts";
import type { InsertRequest } from "../../../src/reverb/wire/requests.ts";
import { readSampleResponse, type SampleEntry } from "../../../src/reverb/wire/responses.ts";
import type { ChunkMessage } from "../../../src/reverb/wire/tensor.ts";
import { widenHalves } from "../../../src/schema/half.ts";
import type { Outcome } from "../outcome.ts";
import { type Json, KINDS, type Recorded } from "./messages.ts";

/** Returns an outcome for each message or list of values. */
export function runWireFile(path: string, content: { readonly [name: string]: Json }): Outcome[] {
  const folder = dirname(path);
  const read = (file: string) => new Uint8Array(readFileSync(join(folder, file)));
  return Object.entries(content).map(([name, json]): Outcome => {
    const skipped = basename(path) === "expected.json" ? typeof json === "string" || !(name in VALUES) : json.message === undefined || !(json.message in KINDS);
    if (skipped)
      return {
        name,
        state: "skipped",
        why: json.message === undefined ? "no part of a client's" : `${json.message} is only for clients in the server's process`,
      };
    try {
      const why = basename(path) === "expected.json" ? VALUES[name]?.(json, read) : messageDiffers(json, read(name));
      return why === undefined ? { name, state: "passed" } : { name, state: "failed", why };
    } catch (error) {
      return { name, state: "failed", why: String(error) };
    }
  });
}

function messageDiffers({ message, decoded }: Recorded, bytes: Uint8Array): string | undefined {
  const { told, read, written } = KINDS[message] as (typeof KINDS)[string];
  if (read !== undefined && !isDeepStrictEqual(read(bytes), told(decoded))) return `${message} is read as something else`;
  if (written === undefined || Buffer.compare(written(decoded), bytes) === 0) return undefined;
  return `${message} is written as ${Buffer.from(written(decoded)).toString("hex")}`;
}

type Read = (file: string) => Uint8Array;

/** The comparisons, by the names in expected.json. Each returns a description of the first difference. */
const VALUES: { readonly [name: string]: (json: Json, read: Read) => string | undefined } = {
  insert_alltypes_delta: (json, read) => {
    const [one] = inserted(read("insert_alltypes_delta.request.bin"));
    const [sample] = sampled(read("sample_alltypes_delta.response.bin"));
    return columnsDiffer(json.columns, one as ItemColumn[]) ?? columnsDiffer(json.columns, sample as ItemColumn[]);
  },
  insert_trajectory: (json, read) => {
    const items = inserted(read("insert_trajectory.request.bin"));
    if (items.length !== json.items.length) return `${items.length} items`;
    return items.map((item, i) => columnsDiffer(json.items[i].columns, item)).find((why) => why !== undefined);
  },
  sample_prio: (json, read) => {
    const bytes = read("sample_prio.response.bin");
    const { info } = readSampleResponse(bytes)[0] as SampleEntry;
    const told = { key: BigInt(json.key), probability: json.probability, tableSize: json.table_size, priority: json.priority, times: json.times_sampled };
    const found = {
      key: info?.item.key,
      probability: info?.probability,
      tableSize: info?.tableSize,
      priority: info?.item.priority,
      times: info?.item.timesSampled,
    };
    return isDeepStrictEqual(found, told) ? columnsDiffer(json.columns, sampled(bytes)[0] as ItemColumn[]) : `its info is ${JSON.stringify(found, String)}`;
  },
  insert_strided_bug: (json, read) => {
    const [column] = sampled(read("sample_strided.response.bin"))[0] as ItemColumn[];
    return isDeepStrictEqual(column?.column.toArray(), json.got) ? undefined : `it is read as ${column?.column.toArray()}`;
  },
};

function inserted(bytes: Uint8Array): ItemColumn[][] {
  const { chunks, items } = (KINDS.InsertStreamRequest as { readonly read: (bytes: Uint8Array) => unknown }).read(bytes) as InsertRequest;
  return items.map((item) => columnsOf(item, chunks));
}

function sampled(bytes: Uint8Array): ItemColumn[][] {
  return readSampleResponse(bytes).map(({ info, chunks }) => columnsOf(info?.item as ItemMessage, chunks));
}

function columnsOf({ columns }: ItemMessage, chunks: readonly ChunkMessage[]): ItemColumn[] {
  const read = new Chunks(chunks);
  return columns.map((column) => read.column(column));
}

function columnsDiffer(json: readonly Json[], columns: readonly ItemColumn[]): string | undefined {
  if (json.length !== columns.length) return `${columns.length} columns`;
  const differ = json.findIndex((told, i) => !isDeepStrictEqual(shown(columns[i] as ItemColumn), meant(told)));
  return differ < 0 ? undefined : `column ${differ} is ${JSON.stringify(shown(columns[differ] as ItemColumn))}`;
}

/** Converts a column to comparable form: numbers become the hexadecimal text of their bytes, so that different NaNs are distinguished. */
function shown({ column: { data, shape } }: ItemColumn): unknown {
  return { shape, data: Array.isArray(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("hex") };
}

function meant({ dtype, shape, hex, hex_le }: Json): unknown {
  if (dtype === "string") return { shape, data: hex.map((text: string) => new TextDecoder().decode(Buffer.from(text, "hex"))) };
  if (dtype !== "float16") return { shape: dtype.startsWith("complex") ? [...shape, 2] : shape, data: hex_le };
  const halves = Uint8Array.from(Buffer.from(hex_le, "hex"));
  return { shape, data: Buffer.from(widenHalves("f16", new Uint16Array(halves.buffer)).buffer).toString("hex") };
}
