// The frames in Node, a process of its own: a line of JSON.
import { setImmediate } from "node:timers/promises";
import * as lib from "../package.mjs";
import { measure } from "./loop.mjs";

console.log(JSON.stringify(await measure(lib, setImmediate)));
