// Empties a game into a learner's own memory: `node learner.js http://HOST/games/NAME`. Any program can be the learner that reads the answers.
import { pathToFileURL } from "node:url";
import { f32, i32, Replay } from "reprise";
import { decodeTagged } from "reprise/storage";

const spec = { observation: f32(4), action: i32(), returns: f32(), nextObservation: f32(4), discounts: f32() };

/** A memory of transitions, and what pulls the next ones into it. */
export function learner(url, fetchBytes = async (address) => new Uint8Array(await (await fetch(address)).arrayBuffer())) {
  const replay = new Replay({ spec, tables: { transitions: { maxSize: 1_000_000 } } });
  const writer = replay.writer({ items: [{ table: "transitions", length: 1 }] });
  let have = 0;
  return {
    replay,
    /** How many came. The number goes up once they are stored: if this fails, the next call gets the same ones again. */
    async pull() {
      const { number, count, ...columns } = decodeTagged(await fetchBytes(`${url}/drain?have=${have}`));
      if (number <= have) return 0;
      writer.appendColumns(columns);
      have = number;
      return count;
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { replay, pull } = learner(process.argv[2] ?? "http://127.0.0.1:8080/games/one");
  for (;;) {
    const count = await pull();
    if (count > 0)
      console.log(`${count} transitions came, ${replay.tables.transitions.size} are here`); // and learn from them
    else await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
