// Node, Deno and Bun: `datasets.mjs FOLDER` opens what is in test/data by its paths.
import process from "node:process";
import { DATASETS, told } from "./datasets-story.mjs";

for (const name of DATASETS) console.log(await told(`${process.argv[2]}/${name}`));
