// Bun: `bun examples/bun.js FILE` does the same as node.js, with Bun's files.
import { Replay } from "reprise";
import { remember, report } from "./random-walk.js";

const file = Bun.file(Bun.argv[2] ?? "walks.reprise");
await file.write(new Blob([...remember(1).snapshot()]));
console.log(report(await Replay.restore(file.stream()))); // chunk by chunk
