/** Writes and reads datasets in tests of `reprise edit`. */
import { cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { openRlds, type RldsDataset, type StepSpec } from "../../../src/datasets/rlds/index.ts";
import { FLAGS, leaf, made } from "../../support/random-steps.ts";
import { all } from "../../support/rlds-data.ts";
import { type Written, writtenFormats } from "./formats.ts";
import { DATA, temporary } from "./support.ts";

export const FILMED: string = join(DATA, "wild/lerobot_video");
export const CAMERA = "observation.images.top";
export const LENGTHS: readonly number[] = [5, 2, 7, 3];

/** The options that formats require because JSON lines do not contain the values. */
export const STATED: { readonly [format: string]: readonly string[] } = {
  tfds: ["--name", "demo"],
  minari: ["--id", "demo-v0"],
  lerobot: ["--fps", "10", "--where", "length > 1"],
};

export interface EditFiles {
  /** Returns a path that does not exist yet. */
  fresh(ending?: string): string;
  /** Returns the path of a writable copy. */
  copied(from: string): string;
  /** The writers of datasets, by format. */
  readonly WRITTEN: { readonly [format: string]: Written };
}

/** Creates a folder for the datasets of a test file, which is deleted after its tests. */
export function editFiles(): EditFiles {
  const temp = temporary();
  let names = 0;
  const fresh = (ending = "") => temp(`${names++}${ending}`);
  const copied = (from: string): string => {
    const to = fresh(statSync(from).isDirectory() ? "" : from.slice(from.lastIndexOf(".")));
    cpSync(from, to, { recursive: true });
    return to;
  };
  return { fresh, copied, WRITTEN: writtenFormats(fresh) };
}

interface Content {
  readonly stepSpec: StepSpec;
  readonly metadataSpec: { readonly [name: string]: StepSpec };
  readonly episodes: Awaited<ReturnType<typeof all>>;
}

export async function contentOf(path: string, options: object = {}): Promise<Content> {
  const reader = await openRlds(path, options);
  const episodes = await all(reader);
  await reader.close();
  return { stepSpec: reader.stepSpec, metadataSpec: reader.metadataSpec, episodes };
}

export const idsOf = async (path: string, options: object = {}): Promise<number[]> => (await contentOf(path, options)).episodes.map(({ id }) => Number(id));

/** Returns all files of a folder by path, or the single file. */
export function filesOf(folder: string): { readonly [path: string]: string } {
  if (!statSync(folder).isDirectory()) return { "": readFileSync(folder).toString("latin1") };
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ name, parentPath }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length + 1), readFileSync(path).toString("latin1")]));
}

export const SPEC: StepSpec = {
  observation: { state: leaf("f32", [3]), image: leaf("u8", [4, 5, 3]) },
  ...{ action: leaf("f64", [2]), reward: leaf("f32"), discount: leaf("f32"), note: leaf("string"), phase: leaf("i32"), ...FLAGS },
} as unknown as StepSpec;

/** Returns random episodes that declare the kind of their last step. */
export function randomEpisodes(lengths: readonly number[], first = 0): RldsDataset<unknown> {
  const metadataSpec = { id: leaf("i64"), final_step: leaf("string") } as { readonly [name: string]: StepSpec };
  const metadata = (k: number) => ({ id: BigInt(first + k), final_step: k % 2 === 0 ? "observation" : "transition" });
  return made(SPEC, lengths, { metadataSpec, metadata, terminal: (k) => k % 3 !== 0 }) as unknown as RldsDataset<unknown>;
}

/** Omits the frame index, which LeRobot counts across episodes. */
export const withoutIndex = (episodes: readonly unknown[][]): object[][] =>
  episodes.map((steps) => steps.map((step) => ({ ...(step as object), index: undefined })));
export const stepsOf = async (path: string): Promise<object[][]> => withoutIndex((await contentOf(path)).episodes.map(({ steps }) => steps as unknown[]));
