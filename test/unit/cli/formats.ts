/** Writes datasets in each format for tests of `edit`. */
import { join } from "node:path";
import { type RldsDataset, writeHdf5, writeJsonl, writeLeRobot, writeMinari, writeNpz, writeParquet, writeTfds } from "../../../src/datasets/rlds/index.ts";

export interface Written {
  /** Writes a dataset and returns its path. */
  readonly write: (data: RldsDataset<unknown>) => Promise<string>;
  /** Returns the output path of an edit, the path to read from it, and the format options. */
  readonly target: () => { readonly out: string; readonly path: string; readonly flags: readonly string[] };
}

/** @param fresh returns a path that does not exist yet */
export function writtenFormats(fresh: (ending?: string) => string): { readonly [format: string]: Written } {
  return {
    tfds: {
      async write(data) {
        const folder = fresh();
        await writeTfds(data, folder, { name: "demo" });
        return join(folder, "demo");
      },
      target() {
        const out = fresh();
        return { out, path: join(out, "demo"), flags: [] };
      },
    },
    minari: {
      async write(data) {
        const folder = fresh();
        await writeMinari(data, folder, { id: "demo-v0" });
        return join(folder, "demo-v0");
      },
      target() {
        const out = fresh();
        return { out, path: join(out, "demo-v0"), flags: ["--format", "minari"] };
      },
    },
    lerobot: {
      async write(data) {
        const folder = fresh();
        await writeLeRobot(data, folder, { fps: 10 });
        return folder;
      },
      target() {
        const out = fresh();
        return { out, path: out, flags: ["--format", "lerobot"] };
      },
    },
    parquet: {
      async write(data) {
        const file = fresh(".parquet");
        await writeParquet(data, file);
        return file;
      },
      target() {
        const out = fresh(".parquet");
        return { out, path: out, flags: [] };
      },
    },
    jsonl: {
      async write(data) {
        const file = fresh(".jsonl");
        await writeJsonl(data, file);
        return file;
      },
      target() {
        const out = fresh(".jsonl");
        return { out, path: out, flags: [] };
      },
    },
    npz: {
      async write(data) {
        const file = fresh(".npz");
        await writeNpz(data, file);
        return file;
      },
      target() {
        const out = fresh(".npz");
        return { out, path: out, flags: [] };
      },
    },
    hdf5: {
      async write(data) {
        const file = fresh(".hdf5");
        await writeHdf5(data, file);
        return file;
      },
      target() {
        const out = fresh(".hdf5");
        return { out, path: out, flags: [] };
      },
    },
  };
}
