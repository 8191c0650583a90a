// Bun: `bun examples/bun.js FILE` does the same as node.js, with Bun's files.
import { restore, snapshot } from "reprise/snapshot";
import { remember, report } from "./random-walk.js";

const file = Bun.file(Bun.argv[2] ?? "walks.reprise");
await file.write(new Blob([...snapshot(remember(1))]));
console.log(report(await restore(file.stream()))); // chunk by chunk
