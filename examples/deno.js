// Deno: `deno run --allow-read --allow-write examples/deno.js FILE` does the same as node.js, with Deno's files. deno.json says where Reprise is.
import { restore, snapshot } from "reprise/snapshot";
import { remember, report } from "./random-walk.js";

const file = Deno.args[0] ?? "walks.reprise";
await Deno.writeFile(file, ReadableStream.from(snapshot(remember(1))));
const { readable } = await Deno.open(file);
console.log(report(await restore(readable))); // chunk by chunk in both directions
