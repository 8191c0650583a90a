/** Tests the stored data of a host: a journal that is opened again and, on hosts with files, datasets that are read and written by path. */

import { openRlds, type Source, writeJsonl } from "../../src/datasets/rlds/index.ts";
import { f32, i32, prioritized, Replay } from "../../src/index.ts";
import type { Directory } from "../../src/storage/index.ts";

/** Closes a Replay after every hundred steps and opens it again from its directory. Returns its content and draws, or why it cannot be stored. */
export async function journal(dir: string | Directory): Promise<string> {
  try {
    return await reopened(dir);
  } catch (error) {
    return refusal(error);
  }
}

async function reopened(dir: string | Directory): Promise<string> {
  const options = { dir, durability: "manual", logger: null } as const;
  const spec = { observation: f32(3), action: i32() };
  let replay = await Replay.open({ ...options, spec, tables: { t: { maxSize: 250, sampler: prioritized(0.6) } }, seed: 7 });
  replay.writer({ items: [{ table: "t", length: 2 }] });
  let sum = 0;
  for (let session = 0; session < 3; session++) {
    const [writer] = replay.writers;
    for (let k = 0; k < 100; k++) writer?.append({ observation: [session, k, sum], action: k });
    const { info, steps } = replay.table("t").sample(16);
    for (const action of (steps.action as { data: Int32Array }).data) sum += action;
    replay.table("t").updatePriorities(
      info.keys,
      Float64Array.from(info.keys, (_, i) => i / 16),
    );
    await replay.flush();
    replay.dispose();
    replay = (await Replay.open(options)) as never;
  }
  const { size } = replay.table("t");
  replay.dispose();
  return `${size} items, drawn ${sum}`;
}

/** Returns the steps of a dataset, or why it cannot be read. */
export async function dataset(from: Source): Promise<string> {
  try {
    const reader = await openRlds(from);
    let steps = 0;
    for await (const episode of reader) steps += episode.steps.length;
    await reader.close();
    return `${reader.format}: ${steps} steps`;
  } catch (error) {
    return refusal(error);
  }
}

function refusal(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  // The complete messages about missing packages are in test/package/messages.txt, so only their remedy is compared.
  const install = /npm install \w+/.exec(message)?.[0];
  return install === undefined ? `${code}: ${message}` : `${code}, run ${install}`;
}

/** Writes a dataset of a folder as JSON lines, and reads it again. */
export async function written(from: string, to: string): Promise<string> {
  const reader = await openRlds(from);
  const { episodes } = await writeJsonl(reader, to);
  await reader.close();
  return `${episodes} episodes, ${await dataset(to)}`;
}
