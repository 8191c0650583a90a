// Opens the datasets of test/data by their paths, in Node, Deno and Bun: `datasets.mjs FOLDER`.
import process from "node:process";
import { DATASETS, told } from "./datasets-story.mjs";

for (const name of DATASETS) console.log(await told(`${process.argv[2]}/${name}`));
