// Node: `node examples/node.js FILE` records random walks, saves the replay to a file, loads it again and learns from it.
import { readFile, writeFile } from "node:fs/promises";
import { Replay } from "reprise";
import { remember, report } from "./random-walk.js";

const file = process.argv[2] ?? "walks.reprise";
await writeFile(file, remember(1).snapshot()); // chunk by chunk
console.log(report(Replay.restore(await readFile(file))));
