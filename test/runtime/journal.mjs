/** Runs in Node, Deno and Bun. `journal.mjs FOLDER` writes and reads a journal, and `journal.mjs FOLDER again` reads a journal that another runtime wrote. */
import process from "node:process";
import { node, ready } from "../../dist/storage.js";
import { read, write } from "./journal-story.mjs";
import { migrate, reopen } from "./migrate-story.mjs";
import { open } from "./open-story.mjs";

await ready;
const [, , folder, again] = process.argv;
// The journal is not closed: opening it again in the same process takes it over.
if (again === undefined) write(node(folder));
console.log(read(node(folder)));
const replays = node(`${folder}-replay`);
if (again === undefined) console.log(await open(replays));
console.log(await (again === undefined ? migrate : reopen)(replays));
