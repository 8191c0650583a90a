/**
 * What every runtime and every bundler runs, over the names that a user imports: the digests of the engine, of snapshots, of observers and replay buffers; a dataset;
 * readers of files whose packages may be missing; and every subpath. It says a line each.
 */

import { subpaths } from "subpaths";
import { f32, Replay } from "../../src/index.ts";
import { openRlds } from "../../src/rlds/index.ts";
import hdf5 from "../data/extra/d4rl/tail.hdf5";
import parquet from "../data/extra/plain.parquet";
import { agentsDigest } from "../runtime/agents.ts";
import { digest } from "../runtime/digest.ts";

export async function suite(say: (line: string) => void): Promise<void> {
  for (const [name, names] of Object.entries(subpaths)) say(`${name} ${Object.keys(names).length} names`);
  const { outputs, snapshots } = await digest();
  say(`digest ${outputs}`);
  say(`snapshots ${snapshots}`);
  say(`agents ${await agentsDigest()}`);
  say(`dataset ${await dataset()}`);
  say(`json lines ${await read("steps.jsonl", new TextEncoder().encode(LINES))}`);
  say(`parquet ${await read("plain.parquet", parquet)}`);
  say(`hdf5 ${await read("tail.hdf5", hdf5)}`);
}

const LINES = [0, 1, 2]
  .map((i) => JSON.stringify({ observation: i, action: 0, reward: 1, discount: 1, is_first: i === 0, is_last: i === 2, is_terminal: i === 2 }))
  .join("\n");

/** Batches over steps with n-step returns, from memory that comes back. */
async function dataset(): Promise<string> {
  using replay = new Replay({ spec: { reward: f32() }, tables: { t: { maxSize: 100 } }, seed: 3 });
  replay.writer({ items: [{ table: "t", length: 3 }] }).appendColumns({ reward: Float32Array.from({ length: 60 }, (_, i) => i) });
  let sum = 0;
  let batches = 0;
  for await (const { nStep } of replay.table("t").dataset({ batchSize: 8, recycle: true, nStep: { n: 2, gamma: 0.5, reward: "reward" } })) {
    for (const value of nStep.returns) sum += value;
    if (++batches === 20) break;
  }
  return `${batches} batches, returns ${sum}`;
}

/** Steps of a file, or why it cannot be read. */
async function read(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  try {
    const reader = await openRlds(new File([bytes], name));
    let steps = 0;
    for await (const episode of reader) steps += episode.steps.length;
    await reader.close();
    return `${reader.format}: ${steps} steps`;
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return `${code}: ${message}`;
  }
}
