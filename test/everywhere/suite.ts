/**
 * Runs in every runtime and with every bundler, using the names that a user imports. Prints a line for each of the following: every subpath; the digests of the
 * engine, snapshots, sequences, observers and replay buffers, mixtures, draws by age, goals and embed.wasm; their recorded cases; batches of a dataset; a
 * journal; and readers of files whose packages may be missing.
 */

import { subpaths } from "subpaths";
import operations from "../../dist/embed/operations.bin";
import embedBytes from "../../dist/embed.wasm";
import { f32, Replay } from "../../src/index.ts";
import { memory } from "../../src/storage/index.ts";
import hdf5 from "../data/extra/d4rl/tail.hdf5";
import parquet from "../data/extra/plain.parquet";
import { play } from "../embed/player.mjs";
import { agentsDigest } from "../runtime/agents.ts";
import { agesDigest } from "../runtime/ages.ts";
import { digest } from "../runtime/digest.ts";
import { goalsDigest } from "../runtime/goals.ts";
import { mixturesDigest } from "../runtime/mixtures.ts";
import { pfrlDigest } from "../runtime/pfrl.ts";
import { sequencesDigest } from "../runtime/sequences.ts";
import { sayCases } from "./cases.ts";
import { dataset, journal, written } from "./kept.ts";

export interface Host {
  /** The folder of a host that has files. The suite reads the files of Workshop.project from this folder, and writes other files to it. */
  readonly folder?: string;
  /** The compiled embed.wasm, for a host that cannot compile WebAssembly. */
  readonly embed?: WebAssembly.Module;
  /** Whether to omit long parts whose result only the engine or the bundler could change. Another row has the same engine and bundler. */
  readonly short?: boolean;
}

export async function suite(say: (line: string) => void, { folder, embed, short = false }: Host = {}): Promise<void> {
  for (const [name, names] of Object.entries(subpaths)) say(`${name} ${Object.keys(names).length} names`);
  if (!short) await long(say);
  say(`sequences ${await sequencesDigest()}`);
  say(`pfrl ${await pfrlDigest()}`);
  say(`mixtures ${await mixturesDigest()}`);
  say(`ages ${await agesDigest()}`);
  say(`goals ${await goalsDigest()}`);
  say(`embed ${play(embed ?? (await WebAssembly.compile(embedBytes)), operations)}`);
  say(`batches ${await batches()}`);
  say(`journal ${await journal(memory())}`);
  say(`json lines ${await dataset(new File([LINES], "steps.jsonl"))}`);
  say(`parquet ${await dataset(new File([parquet], "plain.parquet"))}`);
  say(`hdf5 ${await dataset(new File([hdf5], "tail.hdf5"))}`);
  if (folder === undefined) return;
  say(`file: journal ${await journal(`${folder}/journal`)}`);
  for (const name of ["cartpole", "plain.parquet", "tail.hdf5"]) say(`file: ${name} ${await dataset(`${folder}/${name}`)}`);
  say(`file: written ${await written(`${folder}/cartpole`, `${folder}/cartpole.jsonl`)}`);
}

/** Prints the lines that run.mjs does not expect from a short suite. */
async function long(say: (line: string) => void): Promise<void> {
  const { outputs, snapshots } = await digest();
  say(`digest ${outputs}`);
  say(`snapshots ${snapshots}`);
  say(`agents ${await agentsDigest()}`);
  await sayCases(say);
}

/** Returns the lines as the response of a server. */
export async function answered(host?: Host): Promise<Response> {
  const lines: string[] = [];
  try {
    await suite((line) => lines.push(line), host);
  } catch (error) {
    lines.push(`failed: ${(error as Error).stack ?? error}`);
  }
  return Response.json(lines);
}

/** Shows the lines in a page: in `globalThis.lines`, with a title that signals the end. */
export async function shown(host?: Host): Promise<void> {
  const page = globalThis as unknown as { lines: string[]; document: { title: string } };
  page.lines = [];
  try {
    await suite((line) => page.lines.push(line), host);
    page.document.title = "done";
  } catch (error) {
    page.document.title = `failed: ${(error as Error).stack ?? error}`;
  }
}

const LINES = [0, 1, 2]
  .map((i) => JSON.stringify({ observation: i, action: 0, reward: 1, discount: 1, is_first: i === 0, is_last: i === 2, is_terminal: i === 2 }))
  .join("\n");

/** Returns a summary of batches with n-step returns in recycled memory. */
async function batches(): Promise<string> {
  using replay = new Replay({ spec: { reward: f32() }, tables: { t: { maxSize: 100 } }, seed: 3 });
  replay.writer({ items: [{ table: "t", length: 3 }] }).appendColumns({ reward: Float32Array.from({ length: 60 }, (_, i) => i) });
  let sum = 0;
  let count = 0;
  for await (const { nStep } of replay.table("t").dataset({ batchSize: 8, recycle: true, nStep: { n: 2, gamma: 0.5, reward: "reward" } })) {
    for (const value of nStep.returns) sum += value;
    if (++count === 20) break;
  }
  return `${count} of a dataset, returns ${sum}`;
}
