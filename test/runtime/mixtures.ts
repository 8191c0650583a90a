/** Computes the digest of mixtures: runs a fixed script on two Replays, hashes every batch, and converts states to JSON and back. */
import { f32, i32, mixture, prioritized, Replay, text, u8 } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { Sink } from "./sink.ts";

const STEPS = 600;
const EPISODE = 17;

function worldOf(seed: number) {
  const spec = { observation: f32(3), action: i32(), reward: f32(), word: text({ maxBytes: 8 }), image: u8(300) };
  const replay = new Replay({ spec, tables: { t: { maxSize: 200, sampler: prioritized(0.6) }, u: { maxSize: 60 } }, seed, logger: null });
  const writer = replay.writer({
    items: [
      { table: "t", nStep: 3 },
      { table: "u", length: 1 + seed },
    ],
  });
  return { replay, writer, view: replay.table("t").transitions({ gamma: 0.9 }), table: replay.table("u") };
}

export async function mixturesDigest(): Promise<string> {
  const sink = new Sink();
  const random = new TestRandom(43);
  const worlds = [worldOf(1), worldOf(2)] as const;
  const [a, b] = worlds;
  const shares = [0.3, (draw: number) => 1 / (1 + draw / 8)] as const;
  const exact = mixture([a, b].map(({ view }, i) => ({ from: view, share: shares[i] as number })));
  let chance = mixture(
    [a, b].map(({ table }) => ({ from: table, share: 0.5 })),
    { exact: false, seed: 7 },
  );
  for (let t = 0; t < STEPS; t++) {
    for (const [i, { writer }] of worlds.entries()) {
      const observation = [t, random.next(), i];
      writer.append({ observation, action: t % 5, reward: random.next(), word: `w${t % 9}`, image: new Uint8Array(300).fill(t) });
      if ((t + i) % EPISODE === 0) writer.endEpisode({ final: { observation, word: "", image: new Uint8Array(300) }, terminated: t % 2 === 0 });
    }
    if (t < 40 || t % 5 > 0) continue;
    const batch = exact.sample(9, { beta: 0.4 });
    const items = chance.sample(8, { mask: true });
    const { observation, nextObservation, returns, discounts, weights, source, keys, word, image } = batch;
    sink.nest([...[observation, nextObservation, returns, discounts, weights, source, image].map(({ data }) => data), keys, word.data]);
    const { keys: itemKeys, probabilities, source: of } = items.info;
    sink.nest([items.steps.observation.data, items.steps.word.data, items.lengths, items.mask, itemKeys, probabilities, of]);
    sink.number(
      exact.updatePriorities(
        batch,
        Float64Array.from({ length: 9 }, () => random.next()),
      ),
    );
    const state = JSON.stringify(chance.state());
    sink.text(state);
    sink.text(JSON.stringify(exact.state()));
    chance = mixture(
      [a, b].map(({ table }) => ({ from: table, share: 0.5 })),
      { exact: false, state: JSON.parse(state) },
    );
    await sink.drain();
  }
  return sink.digest();
}
