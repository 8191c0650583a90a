// Lists the hosts of embed.wasm whose speeds are compared, the command that starts each, and its targets: per file, the minimum fraction of Node.js's speed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ISOLATED } from "../../build/pages.mjs";
import { runtimes } from "../../build/runtimes.mjs";
import { root } from "../../build/step.mjs";
import { PLAYER, PROGRAM } from "../../embed/python/tests/python.mjs";
import { run } from "../../test/everywhere/workshop.mjs";

const PLAY = [join(root, "test/embed/play.mjs"), join(root, "dist/embed.wasm")];

const each = (part) => ({ append: part, step: part, uniform: part, cycle: part });

export const hosts = (browsers) => [
  program("Node.js", { ...each(1), uniform4096: 1 }, [process.execPath, ...PLAY]),
  program("Deno", each(0.8), [runtimes().deno, "run", "--allow-read", ...PLAY]),
  program("Bun", each(0.8), [runtimes().bun, ...PLAY]),
  page("Chromium", each(0.8), browsers, "chromium"),
  page("Firefox", each(0.6), browsers, "firefox"),
  program("C, by wasm2c", each(0.7), [join(root, "dist/embed/c/player")], "npm run build:c"),
  // In Python, every call takes some microseconds, so appending a single step has no target.
  program("Python, by wasmtime", { append: 0.5, uniform: 1 / 3, cycle: 1 / 3, uniform4096: 0.5 }, [PROGRAM, PLAYER], "npm run test:python"),
];

/** Returns a host that runs a program, which plays the files in its arguments and prints a line for each: `NAME  X ns`. */
function program(name, least, [command, ...args], remedy = "npm run runtimes") {
  return {
    name,
    least,
    missing: command !== undefined && existsSync(command) ? undefined : remedy,
    launch: async (files) => figures(await run(root, command, [...args, "--time", ...files.map((file) => join(root, "dist/embed", `${file}.bin`))])),
  };
}

function page(name, least, browsers, browser) {
  return {
    name,
    least,
    missing: runtimes()[browser] === undefined ? "npm run runtimes" : undefined,
    launch: async (files) => figures((await browsers.lines(browser, root, { path: `/bench/embed/page.html?${files}`, headers: ISOLATED })).join("\n")),
  };
}

function figures(text) {
  return Object.fromEntries([...text.matchAll(/^(\w+) +(\d+) ns$/gm)].map(([, file, ns]) => [file, Number(ns)]));
}
