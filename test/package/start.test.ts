/** Checks that the scripts of package.json start in a clone without installed packages, because they install these packages themselves. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";

/** The files that `build/run.mjs` loads and reads when it starts. */
const NEEDED = ["build", "package.json", "test/stand-ins.json"];

test("the scripts start without installed packages", () => {
  const clone = mkdtempSync(join(tmpdir(), "reprise-clone-"));
  try {
    const copied = (file: string) => basename(file) !== "node_modules";
    for (const file of NEEDED) cpSync(join(root, file), join(clone, file), { recursive: true, filter: copied });
    // Without a verb, the program loads its modules and prints its usage.
    const { status, stderr } = spawnSync(process.execPath, ["build/run.mjs"], { cwd: clone, encoding: "utf8" });
    expect(stderr).toMatch(/^usage: node build\/run\.mjs start \| /);
    expect(status).toBe(2);
  } finally {
    rmSync(clone, { recursive: true });
  }
});
