// Finds the tools to build and test the library for C: their locations, and how to install missing ones.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installDebian } from "../../build/debian.mjs";

/** The required version of wabt. Later versions rename functions in runtime.h. */
const WASM2C = "1.0.32";
/** The compiler's flags. Contraction of floating-point operations is off, because it would produce other bytes than on other platforms. */
export const FLAGS = ["-std=c11", "-ffp-contract=off"];
export const CC = process.env.CC ?? "cc";

/** The Debian package of each program. */
const DEBIAN = { wasm2c: "wabt", [CC]: "gcc", "g++": "g++", luajit: "luajit", love: "love", mcs: "mono-mcs", mono: "mono-runtime", rustc: "rustc" };

/** Returns the path of a program; undefined if it is missing. */
function programAt(name) {
  const folders = ["", ...(process.env.PATH ?? "").split(delimiter)];
  return folders.map((folder) => join(folder, name)).find((file) => file.includes("/") && existsSync(file));
}

/** Installs missing programs for the tests. */
export function installC() {
  installDebian(Object.entries(DEBIAN).flatMap(([program, name]) => (programAt(program) === undefined ? [name] : [])));
}

/** Returns the path of a program that a build requires. */
export function needed(name, what = `Debian's package ${DEBIAN[name]} (apt-get install ${DEBIAN[name]})`) {
  const file = programAt(name);
  if (file !== undefined) return file;
  console.error(`npm run build:c: ${name} must be on the PATH: install ${what}`);
  process.exit(1);
}

/** The Debian package wabt contains wasm2c, and the header that its output includes. */
export function wasm2c() {
  const program = needed("wasm2c");
  const version = spawnSync(program, ["--version"], { encoding: "utf8" }).stdout.trim();
  if (version === WASM2C) return program;
  console.error(`npm run build:c: wasm2c must have the version ${WASM2C}, as in Debian 12's package wabt, got ${version}`);
  process.exit(1);
}
