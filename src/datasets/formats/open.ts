/** A dataset of any format that is read here: which one it is shows in what is there. */
import { MAX_SOURCE_BYTES } from "../../base/file-limits.ts";
import type { RldsStep } from "../model/dataset.ts";
import { RldsError, unsupportedFile } from "../model/rlds-error.ts";
import type { D4rlOptions } from "./hdf5/d4rl.ts";
import type { RobotOptions } from "./hdf5/open-robots.ts";
import { parseJson } from "./json.ts";
import type { JsonlOptions } from "./jsonl/open-jsonl.ts";
import type { LeRobotOptions } from "./lerobot/open-lerobot.ts";
import { findOwner, logOwner } from "./log-owner.ts";
import type { MinariOptions } from "./minari/open-minari.ts";
import type { NpzOptions } from "./npz/open-npz.ts";
import type { ParquetOptions } from "./parquet/open-parquet.ts";
import type { RldsReader } from "./reader.ts";
import type { RecordingOptions } from "./recording/open-recording.ts";
import type { ReplayOpenOptions } from "./replay/stored-replay.ts";
import { type Source, sourceOf } from "./sources/open-source.ts";
import type { SourceFile, SourceFolder } from "./sources/source.ts";
import type { TfdsOptions } from "./tfds/open-tfds.ts";

/** Those of the format that is found; any other is refused there. */
export type RldsOptions = TfdsOptions &
  MinariOptions &
  D4rlOptions &
  RobotOptions &
  LeRobotOptions &
  ParquetOptions &
  JsonlOptions &
  NpzOptions &
  ReplayOpenOptions &
  RecordingOptions;

type Opener = (from: Source, options: object) => Promise<RldsReader<unknown>>;

/** Each is loaded when it is needed. */
const OPENERS = {
  tfds: async () => (await import("./tfds/open-tfds.ts")).openTfds,
  lerobot: async () => (await import("./lerobot/open-lerobot.ts")).openLeRobot,
  parquet: async () => (await import("./parquet/open-parquet.ts")).openParquet,
  hdf5: async () => (await import("./hdf5/open-any.ts")).openAnyHdf5,
  minari: async () => (await import("./minari/open-minari.ts")).openMinari,
  npz: async () => (await import("./npz/open-npz.ts")).openNpz,
  jsonl: async () => (await import("./jsonl/open-jsonl.ts")).openJsonl,
  replay: async () => (await import("./replay/open-replay.ts")).openReplay,
  recording: async () => (await import("./recording/open-recording.ts")).openRecording,
} as const satisfies { readonly [format: string]: () => Promise<(from: Source, options: never) => Promise<unknown>> };

type Format = keyof typeof OPENERS;
/** Of a log only its first bytes say whether a Replay or a recorder wrote it. */
type FormatGuess = Format | "log";

/** Names in a folder, by what they say; the first that is there says it. */
const NAMES: readonly (readonly [name: string, format: FormatGuess])[] = [
  ["features.json", "tfds"],
  ["meta/info.json", "lerobot"],
  ["data/main_data.hdf5", "hdf5"],
  ["main_data.hdf5", "hdf5"],
  ["data/metadata.json", "minari"],
  ["00000001.rpr", "log"],
];
const ENDINGS: readonly (readonly [ending: string, format: FormatGuess])[] = [
  [".parquet", "parquet"],
  [".hdf5", "hdf5"],
  [".h5", "hdf5"],
  [".jsonl", "jsonl"],
  [".ndjson", "jsonl"],
  [".rpr", "log"],
];

/** What a single file may be, for a message. */
const FILES = "the beginnings of HDF5, Parquet, .npz, JSON lines and snapshots; of tensorflow_datasets, LeRobot, Minari and journals give the folder";

/** How files begin. */
const MAGIC_BYTES: readonly (readonly [bytes: string, format: Format])[] = [
  ["\x89HDF\r\n\x1a\n", "hdf5"],
  ["PAR1", "parquet"],
  ["REPRISE1", "replay"],
  ["PK\x03\x04", "npz"],
  ["PK\x05\x06", "npz"],
  ["{", "jsonl"],
  ["[", "jsonl"],
];

/**
 * Opens a dataset, whatever it is: a folder of tensorflow_datasets (`features.json`), LeRobot (`meta/info.json`), Minari (`data/main_data.hdf5`, `data/metadata.json`), a folder or file of Parquet, an HDF5 file of Minari or
 * D4RL, an .npz, a file of JSON (lines, or an array) or a folder with one of lines, the folder of a Replay's journal or of reprise/record (`00000001.rpr`), a snapshot. What is behind a URL is found by trying those names. Options are those of the format's own function.
 * @throws RldsError UNSUPPORTED for what is none of these, NOT_FOUND; and whatever the format's function throws
 */
export async function openRlds<S = RldsStep>(from: Source, options: RldsOptions = {}): Promise<RldsReader<S>> {
  const { signal, fetch, maxBytes = MAX_SOURCE_BYTES } = options;
  const { file, folder } = await sourceOf(from, { signal, fetch, maxBytes });
  const format = file === undefined ? await ofFolder(folder) : await ofFile(file);
  const open = (await OPENERS[format]()) as Opener;
  return (await open(from, options)) as RldsReader<S>;
}

async function ofFolder(folder: SourceFolder): Promise<Format> {
  const paths = await folder.list();
  if (paths === undefined) return probeFormat(folder);
  checkParent(folder.name, paths);
  const signs = [
    ...NAMES.map(([name, format]) => ({ format, fits: (path: string) => path === name || path.endsWith(`/${name}`) })),
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

/** The folders above and below a dataset's own. @throws RldsError UNSUPPORTED */
function checkParent(file: string, paths: readonly string[]): void {
  const zarr = paths.find((path) => /(^|\/)(\.zgroup|\.zarray|zarr\.json)$/.test(path));
  if (zarr !== undefined)
    throw unsupportedFile(
      { file },
      "the folder is a Zarr store, which is not read here: write its arrays with numpy.savez, with the differences of episode_ends as lengths",
    );
  const roots = new Map<string, Set<FormatGuess>>();
  for (const path of paths)
    for (const [name, format] of NAMES) {
      if (path !== name && !path.endsWith(`/${name}`)) continue;
      const root = path
        .slice(0, -name.length)
        .replace(/(^|\/)data\/$/, "")
        .replace(/\/$/, "");
      roots.set(root, new Set([...(roots.get(root) ?? []), format]));
    }
  if (roots.has("")) return;
  if (paths.includes("info.json") && paths.some((path) => /^(tasks|episodes|stats)[./]/.test(path)))
    throw unsupportedFile({ file }, "the folder is the meta folder of a LeRobot dataset: open the folder above it");
  const formats = new Set([...roots.values()].flatMap((found) => [...found]));
  // Readers of a single format say it themselves, or take the one that is there.
  if (roots.size === 0 || (!formats.has("lerobot") && (roots.size === 1 || formats.size === 1))) return;
  const names = [...roots.keys()].sort();
  const what =
    names.length === 1
      ? `the dataset is in ${names[0]}: open that folder`
      : `the folder has ${names.length} datasets (${names.slice(0, 4).join(", ")}${names.length > 4 ? ", …" : ""}): open one of them`;
  throw unsupportedFile({ file }, what);
}

/** Nobody can list the folder. */
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

async function ofFile(file: SourceFile): Promise<Format> {
  try {
    const head = await file.read(0, Math.min(file.size, 64));
    // A mark of UTF-8 and blanks may stand before the first line of JSON.
    const text = Array.from(head, (byte) => String.fromCharCode(byte)).join("");
    const json = text.replace(/^\xef\xbb\xbf/, "").trimStart();
    const [, format] = MAGIC_BYTES.find(([begin, guess]) => (guess === "jsonl" ? json : text).startsWith(begin)) ?? [];
    if (format === undefined && (await hasUserBlock(file))) return "hdf5";
    if (format === undefined) await checkArchive(file, text);
    if (format === "jsonl") await checkDescription(file);
    if (format === undefined) throw unknownError(file, FILES);
    return format;
  } finally {
    await file.close();
  }
}

const HDF5_MAGIC = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a];
/** HDF5 may stand behind a block of the user's, whose size is a power of two: MATLAB's has 512 bytes. */
const MIN_USER_BLOCK = 512;
const MAX_USER_BLOCK = 2 ** 20;

async function hasUserBlock(file: SourceFile): Promise<boolean> {
  for (let at = MIN_USER_BLOCK; at + HDF5_MAGIC.length <= file.size && at <= MAX_USER_BLOCK; at *= 2) {
    const bytes = await file.read(at, HDF5_MAGIC.length);
    if (HDF5_MAGIC.every((byte, i) => bytes[i] === byte)) return true;
  }
  return false;
}

/** How archives and compressed files begin. */
const ARCHIVES: readonly (readonly [bytes: string, name: string])[] = [
  ["\x1f\x8b", "gzip"],
  ["\x28\xb5\x2f\xfd", "Zstandard"],
  ["BZh", "bzip2"],
  ["\xfd7zXZ\0", "xz"],
  ["7z\xbc\xaf\x27\x1c", "7z"],
  ["Rar!", "RAR"],
];
const TAR_AT = 257;

/** @throws RldsError UNSUPPORTED */
async function checkArchive(file: SourceFile, text: string): Promise<void> {
  const hasTar = file.size >= TAR_AT + 5 && String.fromCharCode(...(await file.read(TAR_AT, 5))) === "ustar";
  const name = ARCHIVES.find(([begin]) => text.startsWith(begin))?.[1] ?? (hasTar ? "tar" : undefined);
  if (name === undefined) return;
  const what = name === "tar" || name === "7z" || name === "RAR" ? `a ${name} archive` : `compressed with ${name}`;
  throw unsupportedFile({ file: file.name }, `the file is ${what}: unpack it, and open the file or folder that comes of it`);
}

/** Files that say what a dataset is, and are none: objects of JSON with one of these keys. */
const DESCRIPTIONS: readonly (readonly [keys: readonly string[], dataset: string, folder: string])[] = [
  [["codebase_version"], "LeRobot", "the folder that contains meta/info.json"],
  [["pythonClassName", "fileFormat"], "tensorflow_datasets", "the folder that contains features.json"],
  [["minari_version", "data_format"], "Minari", "the folder of the dataset, above data/metadata.json"],
];
/** Keys of rows and episodes: a file of one line may have such keys as well. */
const ROW_KEYS = ["rlds", "steps", "obs", "observation", "observations", "action", "actions"];
const DESCRIPTION_BYTES = 1 << 20;

/** @throws RldsError UNSUPPORTED */
async function checkDescription(file: SourceFile): Promise<void> {
  if (file.size > DESCRIPTION_BYTES) return;
  let value: unknown;
  try {
    value = parseJson(new TextDecoder().decode(await file.read(0, file.size)));
  } catch {
    // Lines of JSON, or none: their reader says what is wrong.
    return;
  }
  const found = typeof value === "object" && value !== null ? Object.keys(value) : [];
  if (ROW_KEYS.some((key) => found.includes(key))) return;
  const [, dataset, folder] = DESCRIPTIONS.find(([keys]) => keys.some((key) => found.includes(key))) ?? [];
  if (dataset !== undefined) throw unsupportedFile({ file: file.name }, `the file describes a dataset of ${dataset}, and is none by itself: open ${folder}`);
}

function unknownError({ name }: { readonly name: string }, candidates: string): RldsError {
  return unsupportedFile({ file: name }, `this is not a dataset of a known format: looked for ${candidates}`);
}
