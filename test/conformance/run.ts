/** Runs files or folders of cases: `npm run conformance -- PATH…`. Without a path, runs the copies in this folder. */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { runPaths } from "./files.ts";
import { reportOf } from "./report.ts";

// This file runs as the bundle dist/conformance.mjs, so `..` is the root of the repository.
const copies = relative(process.cwd(), fileURLToPath(new URL("../test/conformance", import.meta.url)));

const paths = process.argv.slice(2);
const { lines, failed } = reportOf(await runPaths(paths.length === 0 ? [copies] : paths));
console.log(lines.join("\n"));
process.exitCode = failed === 0 ? 0 : 1;
