/** Checks the versions that package.json allows for the optional packages. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { root } from "../support/core.ts";

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
const page = readFileSync(join(root, "docs/guides/bundlers.md"), "utf8");
const peers = Object.entries(manifest.peerDependencies as { readonly [name: string]: string });

/** The packages from which we import undocumented files. A minor version may move such files. */
const INNER = ["hyparquet"];

/** Returns the first version that may break compatibility with this version. */
function bound(name: string, version: string): string {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 0 && !INNER.includes(name) ? String(major + 1) : `${major}.${minor + 1}`;
}

describe.each(peers)("the optional peer %s", (name, range) => {
  test("allows versions from a minimum up to the next breaking version", () => {
    const [, least] = range.match(/^>=(\d+\.\d+\.\d+) /) ?? [];
    expect(range).toBe(`>=${least} <${bound(name, least as string)}`);
    expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
  });

  test("is tested in its minimum version", () => {
    const tested = manifest.devDependencies[name] ?? manifest.devDependencies[`${name}-core`];
    expect(range.startsWith(`>=${tested} `)).toBe(true);
  });

  test("has the same range in the lock file and in docs/guides/bundlers.md", () => {
    expect(locked.packages[""].peerDependencies[name]).toBe(range);
    expect(page).toContain(`| \`${name}\` | \`${range}\` |`);
  });
});

test("files inside a peer are imported only from peers with a narrow range", () => {
  const imported = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [...readFileSync(join(root, "src", file), "utf8").matchAll(/(?:from|import\() ?"((?:@[^/"]+\/)?[^./"@][^/"]*)\/[^"]+"/g)])
    .map(([, name]) => name as string);
  expect([...new Set(imported)].filter((name) => peers.some(([peer]) => peer === name))).toEqual(INNER);
});

test("all peers are listed as optional and in the lock file, which names no registry", () => {
  expect(Object.keys(manifest.peerDependenciesMeta)).toEqual(peers.map(([name]) => name));
  expect(Object.keys(locked.packages[""].peerDependencies)).toEqual(peers.map(([name]) => name));
  expect(JSON.stringify(locked)).not.toContain('"resolved":"http');
});
