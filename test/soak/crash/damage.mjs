// Opens journals whose files were altered, cut, deleted, exchanged, or taken from another run. A journal must be rejected, or have the state after some call.
import { Replay } from "reprise";
import { memory } from "reprise/storage";
import { act, KINDS, NAMES, Past, randomOf } from "./world.mjs";

const CALLS = 400;

/** The number of directories per journal. */
const EACH = 100;

/** @param first a multiple of EACH */
export async function damage(first, runs, seed) {
  const failures = [];
  const counts = { opened: 0, refused: 0, salvaged: 0, beyond: 0 };
  for (let run = first, journals; run < first + runs; run++) {
    const random = randomOf(seed + 3 * run);
    if (run % EACH === 0) journals = await journalsOf(NAMES[(run / EACH) % NAMES.length], seed + run);
    const { kind, past, files, others } = journals;
    const [what, damaged] = altered(files, others, random);
    try {
      await opens(kind, past, damaged, counts);
    } catch (error) {
      failures.push(`seed ${seed}, damage ${run} (${kind}, ${what}): ${error.message}`);
      console.error(failures.at(-1));
    }
  }
  return { counts, failures };
}

/** Creates a journal of a kind, all states that it went through, and foreign segments: of another run, and of a copy that diverged. */
async function journalsOf(kind, seed) {
  const past = new Past();
  const retain = seed % 2 === 0 ? "all" : "capacity";
  const options = { ...KINDS[kind].options, retain, segmentBytes: 4096, durability: "manual", logger: null };
  const dir = memory();
  const files = await written(dir, kind, options, seed, past);
  const other = await written(memory(), kind, options, seed);
  const copy = await written(memory({ files: dir.files() }), kind, { ...options, retain: undefined }, seed + 1, past);
  // The states of the copy also count: they are consistent, and from the same run.
  return { kind, past, files, others: [other, copy] };
}

async function written(dir, kind, options, seed, past) {
  const replay = await Replay.open({ dir, ...options });
  const random = randomOf(seed);
  past?.note(replay);
  for (let k = 0; k < CALLS; k++) {
    act(kind, replay, random);
    past?.note(replay);
    if (random(10) === 0) await replay.flush();
  }
  replay.dispose();
  return dir.files();
}

const WAYS = ["flip", "cut", "delete", "append", "zero", "exchange", "foreign", "copy", "shift"];

function altered(files, others, random) {
  const names = [...files.keys()].sort();
  const name = names[random(names.length)];
  const bytes = files.get(name);
  const changed = new Map(files);
  const way = WAYS[random(WAYS.length)];
  const at = random(bytes.length);
  if (way === "flip") {
    const flipped = bytes.slice();
    for (let k = random(3); k >= 0; k--) flipped[random(bytes.length)] ^= 1 << random(8);
    changed.set(name, flipped);
  } else if (way === "cut") changed.set(name, bytes.subarray(0, at));
  else if (way === "delete") for (let k = random(2); k >= 0; k--) changed.delete(names[random(names.length)]);
  else if (way === "append") changed.set(name, Uint8Array.of(...bytes, ...Array.from({ length: 1 + random(40) }, () => random(256))));
  else if (way === "zero") changed.set(name, bytes.slice().fill(0, at, at + random(200)));
  else if (way === "exchange") {
    const other = names[random(names.length)];
    changed.set(name, files.get(other)).set(other, bytes);
  } else if (way === "foreign" || way === "copy") {
    const theirs = others[way === "foreign" ? 0 : 1];
    const [there] = [name, ...theirs.keys()].filter((one) => theirs.has(one));
    changed.set(there, theirs.get(there));
  } else changed.set(`${String(Number(names.at(-1).slice(0, 8)) + 1).padStart(8, "0")}.rpr`, bytes);
  return [`${way} ${name} ${at}`, changed];
}

const REFUSED = ["CORRUPT", "UNSUPPORTED", "SPEC_MISMATCH", "NOT_FOUND"];

/** Opens the journal, or salvages it if opening is rejected. The result must open again, accept writes, and open once more. */
async function opens(kind, past, files, counts) {
  const { spec, tables } = KINDS[kind].options;
  for (const salvage of [false, true]) {
    const how = salvage ? "salvaged" : "opened";
    const dir = memory({ files });
    let replay;
    try {
      replay = await Replay.open({ dir, spec, tables, salvage, durability: "manual", logger: null });
    } catch (error) {
      if (!REFUSED.includes(error.code)) throw error;
      if (!same(dir.files(), files)) throw new Error(`refused (${error.message}), and yet changed`);
      if (salvage) counts.beyond++;
      else counts.refused++;
      continue;
    }
    if (past.find(replay) < 0 && files.size > 0) throw new Error(`${how} as it never was`);
    const { size } = Object.values(replay.tables)[0];
    replay.dispose();
    const reopen = (from) =>
      Replay.open({ dir: from, durability: "manual", logger: null }).catch((error) => {
        throw new Error(`${how}, and then: ${error.message}`);
      });
    const again = await reopen(dir);
    if (Object.values(again.tables)[0].size !== size) throw new Error("it is another one when it is opened again");
    const random = randomOf(5);
    const later = new Past();
    for (let k = 0; k < 30; k++) act(kind, again, random);
    later.note(again);
    await again.flush();
    const last = await reopen(dir.crash());
    if (later.find(last) < 0) throw new Error("what was flushed after it is not there");
    last.dispose();
    again.dispose();
    if (salvage) counts.salvaged++;
    else counts.opened++;
    return;
  }
}

function same(a, b) {
  return a.size === b.size && [...a].every(([name, bytes]) => Buffer.from(bytes).equals(Buffer.from(b.get(name) ?? [])));
}
