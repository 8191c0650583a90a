/** Opens a dataset of any supported format, which is detected from its files. */
import { MAX_SOURCE_BYTES } from "../../base/file-limits.ts";
import type { RldsStep } from "../model/dataset.ts";
import { RldsError, unsupportedFile } from "../model/rlds-error.ts";
import { decompressedSource } from "./compression/decompressed-source.ts";
import type { CsvOptions } from "./csv/open-csv.ts";
import { isTable } from "./csv/table-sign.ts";
import type { D4rlOptions } from "./hdf5/d4rl.ts";
import type { RobotOptions } from "./hdf5/open-robots.ts";
import { hasUserBlock } from "./hdf5/user-block.ts";
import type { JsonlOptions } from "./jsonl/open-jsonl.ts";
import type { LeRobotOptions } from "./lerobot/open-lerobot.ts";
import { findOwner, logOwner } from "./log-owner.ts";
import type { McapOptions } from "./mcap/options.ts";
import type { MinariOptions } from "./minari/open-minari.ts";
import { checkArchive, checkDescription, checkParent } from "./neighbours.ts";
import type { NpzOptions } from "./npz/open-npz.ts";
import type { ParquetOptions } from "./parquet/open-parquet.ts";
import type { RldsReader } from "./reader.ts";
import type { RecordingOptions } from "./recording/recording.ts";
import type { ReplayOpenOptions } from "./replay/stored-replay.ts";
import { ENDINGS, isNamed, NAMES } from "./signs.ts";
import type { Source } from "./sources/open-source.ts";
import type { SourceFile, SourceFolder } from "./sources/source.ts";
import type { TfdsOptions } from "./tfds/open-tfds.ts";
import type { TfrecordOptions } from "./tfrecord/open-tfrecord.ts";
import { isRecords } from "./tfrecord/record-sign.ts";
import type { ZarrOptions } from "./zarr/open-zarr.ts";
import { hasZarr } from "./zarr/signs.ts";

/** The options of all formats. The reader of the detected format rejects the options of other formats. */
export type RldsOptions = TfdsOptions &
  MinariOptions &
  D4rlOptions &
  RobotOptions &
  LeRobotOptions &
  ParquetOptions &
  JsonlOptions &
  CsvOptions &
  NpzOptions &
  ZarrOptions &
  McapOptions &
  TfrecordOptions &
  ReplayOpenOptions &
  RecordingOptions;

type Opener = (from: Source, options: object) => Promise<RldsReader<unknown>>;

/** The functions that load the openers. Each opener is loaded only when it is needed. */
const OPENERS = {
  tfds: async () => (await import("./tfds/open-tfds.ts")).openTfds,
  lerobot: async () => (await import("./lerobot/open-lerobot.ts")).openLeRobot,
  parquet: async () => (await import("./parquet/open-parquet.ts")).openParquet,
  hdf5: async () => (await import("./hdf5/open-any.ts")).openAnyHdf5,
  minari: async () => (await import("./minari/open-minari.ts")).openMinari,
  npz: async () => (await import("./npz/open-npz.ts")).openNpz,
  zarr: async () => (await import("./zarr/open-zarr.ts")).openZarr,
  mcap: async () => (await import("./mcap/open-mcap.ts")).openMcap,
  csv: async () => (await import("./csv/open-csv.ts")).openCsv,
  tfrecord: async () => (await import("./tfrecord/open-tfrecord.ts")).openTfrecord,
  jsonl: async () => (await import("./jsonl/open-jsonl.ts")).openJsonl,
  replay: async () => (await import("./replay/open-replay.ts")).openReplay,
  recording: async () => (await import("./recording/open-recording.ts")).openRecording,
} as const satisfies { readonly [format: string]: () => Promise<(from: Source, options: never) => Promise<unknown>> };

type Format = keyof typeof OPENERS;

/** The supported kinds of single files, for a message. */
const FILES =
  "the first bytes of HDF5, Parquet, MCAP, .npz, JSON lines, tables (.csv), records of TF-Agents (.tfrecord) and snapshots. For tensorflow_datasets, LeRobot, Minari and journals, pass the folder";

/** The first bytes of files, with their formats. */
const MAGIC_BYTES: readonly (readonly [bytes: string, format: Format])[] = [
  ["\x89HDF\r\n\x1a\n", "hdf5"],
  ["PAR1", "parquet"],
  ["\x89MCAP0\r\n", "mcap"],
  ["REPRISE1", "replay"],
  ["PK\x03\x04", "npz"],
  ["PK\x05\x06", "npz"],
  ["{", "jsonl"],
  ["[", "jsonl"],
];

/**
 * Opens a dataset and detects its format. The source may be:
 * - a folder of tensorflow_datasets (`features.json`), LeRobot (`meta/info.json`) or Minari (`data/main_data.hdf5`, `data/metadata.json`);
 * - a Parquet or MCAP file, or a folder of such files;
 * - an HDF5 file of Minari, D4RL or robots, an .npz file, a Zarr store or a CSV table;
 * - a record file of TF-Agents with its spec;
 * - a JSON file (lines or an array), or a folder with a file of JSON lines;
 * - the folder of a Replay's journal or of reprise/record (`00000001.rpr`), or a snapshot.
 *
 * If the source is a URL, these names are tried one after the other. The options are passed to the reader of the detected format.
 * @throws RldsError UNSUPPORTED if the source has none of these forms
 * @throws RldsError NOT_FOUND if the source does not exist
 * @throws the errors of the format's reader
 */
export async function openRlds<S = RldsStep>(from: Source, options: RldsOptions = {}): Promise<RldsReader<S>> {
  const { signal, fetch, maxBytes = MAX_SOURCE_BYTES, salvage } = options;
  const { file, folder, wasCompressed } = await decompressedSource(from, { signal, fetch, maxBytes, salvage });
  if (file !== undefined && wasCompressed) return openDecompressed(file, from, options);
  const format = file === undefined ? await ofFolder(folder) : await ofFile(file, maxBytes);
  const open = (await OPENERS[format]()) as Opener;
  return (await open(from, options)) as RldsReader<S>;
}

/** Opens a file that was decompressed. The reader takes ownership of the decompressed file. */
async function openDecompressed<S>(file: SourceFile, from: Source, options: RldsOptions): Promise<RldsReader<S>> {
  try {
    const format = await formatOf(file, options.maxBytes ?? MAX_SOURCE_BYTES);
    const open = (await OPENERS[format]()) as Opener;
    if (format === "tfrecord") {
      // The spec is next to the compressed file, so the reader must open the original source.
      await file.close();
      return (await open(from, options)) as RldsReader<S>;
    }
    const reader = await open(file, options);
    const close = reader.close.bind(reader);
    return Object.assign(reader, {
      async close() {
        await close();
        await file.close();
      },
    }) as RldsReader<S>;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function ofFolder(folder: SourceFolder): Promise<Format> {
  const paths = await folder.list();
  if (paths === undefined) return probeFormat(folder);
  checkParent(folder.name, paths);
  const signs = [
    ...NAMES.map(([name, format]) => ({ format, fits: (path: string) => isNamed(path, name) })),
    ...ENDINGS.map(([suffix, format]) => ({ format, fits: (path: string) => path.endsWith(suffix) })),
  ];
  for (const { format, fits: matches } of signs) {
    const path = paths.find(matches);
    if (path === undefined) continue;
    const logs = paths.filter((path) => path.endsWith(".rpr"));
    return format === "log" ? findOwner(folder, logs) : format;
  }
  throw unknownError(folder, [...NAMES, ...ENDINGS].map(([name]) => name).join(", "));
}

/** Detects the format of a folder that cannot be listed. */
async function probeFormat(folder: SourceFolder): Promise<Format> {
  for (const [name, format] of NAMES) {
    const file = await folder.open(name).catch((error) => {
      if (error instanceof RldsError && error.code === "NOT_FOUND") return undefined;
      throw error;
    });
    if (file === undefined) continue;
    try {
      return format === "log" ? ((await logOwner(file)) ?? "replay") : format;
    } finally {
      await file.close();
    }
  }
  throw unknownError(folder, NAMES.map(([name]) => name).join(", "));
}

async function ofFile(file: SourceFile, maxBytes: number): Promise<Format> {
  try {
    return await formatOf(file, maxBytes);
  } finally {
    await file.close();
  }
}

/** Detects the format of a file. @param maxBytes the maximum size of an archive's directory, in bytes */
async function formatOf(file: SourceFile, maxBytes: number): Promise<Format> {
  const head = await file.read(0, Math.min(file.size, 64));
  // A byte order mark and blanks may precede the first line of JSON.
  const text = Array.from(head, (byte) => String.fromCharCode(byte)).join("");
  const json = text.replace(/^\xef\xbb\xbf/, "").trimStart();
  const [, format] = MAGIC_BYTES.find(([begin, guess]) => (guess === "jsonl" ? json : text).startsWith(begin)) ?? [];
  if (format === undefined && isRecords(head)) return "tfrecord";
  if (format === undefined && (await isTable(file))) return "csv";
  if (format === undefined && (await hasUserBlock(file))) return "hdf5";
  if (format === undefined) await checkArchive(file, text);
  if (format === "jsonl") await checkDescription(file);
  if (format === "npz" && (await isZarrArchive(file, maxBytes))) return "zarr";
  if (format === undefined) throw unknownError(file, FILES);
  return format;
}

/** Returns whether a zip archive contains a Zarr store. Archives that cannot be read are left to the reader of NumPy archives. */
async function isZarrArchive(file: SourceFile, maxBytes: number): Promise<boolean> {
  const { zipEntries } = await import("./npz/zip.ts");
  const entries = await zipEntries(file, maxBytes).catch((error) => {
    if (error instanceof RldsError && error.code === "CORRUPT") return [];
    throw error;
  });
  return hasZarr(entries.map(({ name }) => name));
}

function unknownError({ name }: { readonly name: string }, candidates: string): RldsError {
  return unsupportedFile({ file: name }, `the format is unknown. Reprise looked for ${candidates}`);
}
