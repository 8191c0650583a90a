// Runs the frames in Node, in a separate process: prints a line of JSON for `cold` and `warmed`. With `frames` or `nothing` it only plays.
import { setImmediate } from "node:timers/promises";
import * as lib from "../package.mjs";
import { measure, play } from "./loop.mjs";

const [what] = process.argv.slice(2);
if (what === "cold" || what === "warmed") console.log(JSON.stringify(await measure(lib, setImmediate, { warmUp: what === "warmed" })));
else await play(lib, setImmediate, what === "frames");
