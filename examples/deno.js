// Deno: `deno run --allow-read --allow-write examples/deno.js FILE` does the same as node.js, with Deno's files. deno.json says where Reprise is.
import { Replay } from "reprise";
import { remember, report } from "./random-walk.js";

const file = Deno.args[0] ?? "walks.reprise";
await Deno.writeFile(file, ReadableStream.from(remember(1).snapshot()));
const { readable } = await Deno.open(file);
console.log(report(await Replay.restore(readable))); // chunk by chunk in both directions
