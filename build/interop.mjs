/** Tests of reprise/reverb against a real server, in a Python of their own. */
import { join } from "node:path";
import { test } from "./test.mjs";
import { venv } from "./venv.mjs";

const root = join(import.meta.dirname, "..");
