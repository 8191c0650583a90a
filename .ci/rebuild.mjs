// Checks that a build from scratch in another folder produces the same bytes as the build in this folder, which is also from scratch in a clean clone.
import { equal, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { checks } from "./checks.mjs";

const root = join(import.meta.dirname, "..");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "reprise-rebuild-")));

/** Whether a path is left out of the copy. Outputs are not sources, and the Python environments and the tools that other verbs install take gigabytes. */
const isLeft = (path) =>
  ["dist", ".git", "build/runtimes/node_modules", "build/tools/node_modules"].some((entry) => path === join(root, entry)) ||
  existsSync(join(path, "pyvenv.cfg"));

const build = (cwd) => promisify(execFile)(process.execPath, ["build/run.mjs", "build"], { cwd, maxBuffer: 2 ** 28 });

function hashOf(file) {
  return existsSync(file) ? createHash("sha256").update(readFileSync(file)).digest("hex") : "not there";
}

try {
  const copy = join(folder, "another-name");
  // The packages are copied instead of linked, because their paths are in source maps and so affect the names of chunks.
  cpSync(root, copy, { recursive: true, filter: (path) => !isLeft(path) });
  await build(copy);
  // Rebuilds what has changed since the last build, if anything.
  await build(root);
  const names = [
    ...new Set([
      // Only WebAssembly modules, scripts and manifests are compared, because other verbs write other files to this folder. The names below must exist.
      ...readdirSync(join(copy, "dist"), { recursive: true }).filter((file) => /\.(wasm|js|mjs|map)$|package\.json$/.test(file)),
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
          const made = join(copy, "dist", file);
          ok(existsSync(made), `${file} was not built`);
          equal(hashOf(join(root, "dist", file)), hashOf(made));
        },
      ]),
    ),
  );
} finally {
  rmSync(folder, { recursive: true });
}
