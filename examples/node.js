// Node: `node examples/node.js FILE` records random walks, saves the replay to a file, loads it again and learns from it.
import { readFile, writeFile } from "node:fs/promises";
import { restore, snapshot } from "reprise/snapshot";
import { remember, report } from "./random-walk.js";

const file = process.argv[2] ?? "walks.reprise";
await writeFile(file, snapshot(remember(1))); // chunk by chunk
console.log(report(restore(await readFile(file))));
