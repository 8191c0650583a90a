// What the library for C is made and tested with: where it is, and how the missing comes.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installDebian } from "../../build/debian.mjs";

/** Later versions have other names for what runtime.h gives. */
const WASM2C = "1.0.32";
/** Contracted products would be other bytes than everywhere else. */
export const FLAGS = ["-std=c11", "-ffp-contract=off"];
export const CC = process.env.CC ?? "cc";

/** Debian's package of each program. */
const DEBIAN = { wasm2c: "wabt", [CC]: "gcc", "g++": "g++", luajit: "luajit", love: "love", mcs: "mono-mcs", mono: "mono-runtime", rustc: "rustc" };

/** Where a program is; undefined where it is missing. */
function programAt(name) {
  const folders = ["", ...(process.env.PATH ?? "").split(delimiter)];
  return folders.map((folder) => join(folder, name)).find((file) => file.includes("/") && existsSync(file));
}

/** Installs what the tests take and is missing. */
export function installC() {
  installDebian(Object.entries(DEBIAN).flatMap(([program, name]) => (programAt(program) === undefined ? [name] : [])));
}

/** Where a program is that a build needs. */
export function needed(name, what = `Debian's package ${DEBIAN[name]} (apt-get install ${DEBIAN[name]})`) {
  const file = programAt(name);
  if (file !== undefined) return file;
  console.error(`npm run build:c: ${name} must be on the PATH: install ${what}`);
  process.exit(1);
}

/** Debian's package wabt has wasm2c, and the header that its output includes. */
export function wasm2c() {
  const program = needed("wasm2c");
  const version = spawnSync(program, ["--version"], { encoding: "utf8" }).stdout.trim();
  if (version === WASM2C) return program;
  console.error(`npm run build:c: wasm2c must have the version ${WASM2C}, as in Debian 12's package wabt, got ${version}`);
  process.exit(1);
}
