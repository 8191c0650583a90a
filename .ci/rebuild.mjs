// Two builds from nothing, in two folders, are the same bytes.
import { equal } from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { checks } from "./checks.mjs";

const root = join(import.meta.dirname, "..");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "reprise-rebuild-")));

/** What is no source; the Pythons of the tests have gigabytes. */
const LEFT = ["dist", ".git", "build/embed", "build/peers", "build/python"].map((entry) => join(root, entry));

/** Builds a copy of the sources; the hash of every WebAssembly module, script and manifest that came out, by name. */
async function build(name) {
  const copy = join(folder, name);
  cpSync(root, copy, { recursive: true, filter: (path) => basename(path) !== "node_modules" && !LEFT.includes(path) });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "junction");
  await promisify(execFile)(process.execPath, ["build/run.mjs", "build"], { cwd: copy, maxBuffer: 2 ** 28 });
  const made = readdirSync(join(copy, "dist"), { recursive: true }).filter((file) => /\.(wasm|js|mjs|map)$|package\.json$/.test(file));
  const hashes = made.map((file) => [
    file,
    createHash("sha256")
      .update(readFileSync(join(copy, "dist", file)))
      .digest("hex"),
  ]);
  return Object.fromEntries(hashes);
}

try {
  // Most of a build takes one processor.
  const [first, second] = await Promise.all(["one", "another-name"].map(build));
  const names = [
    ...new Set([
      ...Object.keys(first),
      ...Object.keys(second),
      "core.wasm",
      "core.scalar.wasm",
      "embed.wasm",
      "embed.scalar.wasm",
      "index.js",
      "reprise-page/package.json",
      "reprise-page/page/main.js",
    ]),
  ].sort();
  await checks(
    Object.fromEntries(
      names.map((file) => [
        `two builds give one ${file}`,
        () => {
          equal(typeof first[file], "string", `${file} was not built`);
          equal(first[file], second[file]);
        },
      ]),
    ),
  );
} finally {
  rmSync(folder, { recursive: true });
}
