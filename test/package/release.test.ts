/** Checks the published files, and the names under which they are published. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { PAGE, PAGE_PACKAGE, PAGE_README } from "../../build/page.mjs";
import { absolute, addressOf, manifestOf, rangeOf } from "../../build/release.mjs";
import { loadedWith, loadedWithOrAfter, sizes } from "../../build/sizes.mjs";
import { root } from "../support/core.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const manifest = JSON.parse(read("package.json"));
const CONDITIONS = ["types", "workerd", "bun", "deno", "module", "module-sync", "require", "default"];

interface Target {
  readonly [condition: string]: string;
}

/** The subpaths that are JavaScript, and their targets. */
const subpaths = Object.entries<Target>(manifest.exports).filter(([, target]) => target.default?.endsWith(".js"));

describe("each subpath", () => {
  it.each(subpaths)("%s has its conditions in order, and all but two lead to one file", (_, target) => {
    const asked = Object.keys(target);
    expect(asked).toEqual(CONDITIONS.filter((condition) => condition !== "workerd" || asked.includes(condition)));
    const { types, workerd, require, ...others } = target;
    expect([...new Set(Object.values(others))]).toEqual([target.default]);
    expect(require).toBe("./dist/require.cjs");
  });

  it.each(subpaths.filter(([, target]) => target.workerd))("%s sets the core in workerd, and exports the same names", (_, target) => {
    const file = target.default?.replace("./dist/", "") as string;
    expect(target.workerd).toBe(`./dist/workerd/${file}`);
    const lines = read(target.workerd as string)
      .trim()
      .split("\n");
    expect(lines).toEqual([
      'import core from "../core.wasm";',
      'import { setModule } from "../set-module.js";',
      `export * from "../${file}";`,
      "setModule(core);",
    ]);
  });

  // These load the core only for a Replay that exists already, whose entry has set the module.
  const GIVEN = ["./inspector", "./reverb"];

  it.each(subpaths.filter(([path]) => !GIVEN.includes(path)))("%s has an entry for workerd exactly if it can load the core", (_, target) => {
    const files = loadedWithOrAfter(join(root, "dist"), target.default?.replace("./dist/", "") as string);
    expect(target.workerd !== undefined).toBe(files.some((file) => read(`dist/${file}`).includes("new WebAssembly.Module(")));
  });

  it.each(GIVEN)("%s has no entry for workerd, and does not load the core on import", (path) => {
    const target = manifest.exports[path];
    const files = loadedWith(join(root, "dist"), target.default.replace("./dist/", ""));
    expect(target.workerd).toBe(undefined);
    expect(files.filter((file) => read(`dist/${file}`).includes("new WebAssembly.Module("))).toEqual([]);
  });

  it("is in jsr.json, with the same version", () => {
    const { exports, version } = JSON.parse(read("jsr.json"));
    expect(version).toBe(manifest.version);
    expect(Object.keys(exports)).toEqual(subpaths.map(([path]) => path));
    for (const file of Object.values<string>(exports)) expect([file, existsSync(join(root, file))]).toEqual([file, true]);
  });
});

const address = {
  repository: "https://host.example/owner/reprise",
  file: "{repository}/blob/v{version}/{path}",
  picture: "{repository}/raw/v{version}/{path}",
};

describe("a release", () => {
  it("requires a repository address, and the error says where to write it", () => {
    expect(() => addressOf(undefined, { ...address, repository: null })).toThrow(
      "no release without an address: write the repository's URL into build/address.json, or give --repository URL",
    );
    for (const wrong of ["", "host.example/owner/name", "https://host.example", "https://host.example/owner/name/", "git@host.example:owner/name"])
      expect(() => addressOf(wrong, address)).toThrow("repository must be a URL like https://HOST/OWNER/NAME");
    expect(addressOf(address.repository, { ...address, repository: null })).toEqual(address);
    expect(manifest.private).toBe(true);
  });

  it("names the repository, but no scripts or development dependencies", () => {
    const published = manifestOf(manifest, address);
    expect(published).toMatchObject({ name: "reprise", homepage: `${address.repository}#readme`, bugs: { url: `${address.repository}/issues` } });
    expect(published.repository).toEqual({ type: "git", url: `git+${address.repository}.git` });
    expect(Object.keys(published).filter((key) => /private|scripts|devDependencies|overrides/.test(key))).toEqual([]);
    expect(published).toMatchObject({ exports: manifest.exports, imports: manifest.imports });
  });

  it("has absolute links and pictures for the page of a registry", () => {
    const page = "[guide](docs/guides/specs.md#text) ![chart](bench/peers/chart.svg) [site](https://a.example) [below](#install)";
    expect(absolute(page, "README.md", address, "1.2.3")).toBe(
      "[guide](https://host.example/owner/reprise/blob/v1.2.3/docs/guides/specs.md#text) ![chart](https://host.example/owner/reprise/raw/v1.2.3/bench/peers/chart.svg) " +
        "[site](https://a.example) [below](#install)",
    );
    expect(() => absolute("[nothing](docs/nothing.md)", "README.md", address, "1.2.3")).toThrow("README.md links to docs/nothing.md, which is not there");
  });

  it.each(["README.md", "CHANGELOG.md", PAGE_README])("leaves no relative link in %s", (file) => {
    const page = absolute(read(file), file, address, manifest.version);
    const links = [...page.replaceAll(/```[\s\S]*?```|`[^`]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link as string);
    expect(links.length).toBeGreaterThan(1);
    expect(links.filter((link) => !/^(https:|#)/.test(link))).toEqual([]);
    expect(page).not.toMatch(/not released yet|until the release/);
  });
});

describe("the package of the page", () => {
  const ofPage = JSON.parse(read(`${PAGE_PACKAGE}/package.json`));

  it("has the version of the main package, and requires exactly that version", () => {
    expect(ofPage).toMatchObject({ name: "reprise-page", version: manifest.version, license: manifest.license, private: true });
    expect(ofPage.peerDependencies).toEqual({ reprise: manifest.version });
    expect(ofPage.peerDependenciesMeta).toEqual({ reprise: { optional: true } });
    expect(manifestOf(ofPage, address)).toMatchObject({ repository: { url: `git+${address.repository}.git` } });
    expect(Object.keys(manifestOf(ofPage, address))).not.toContain("private");
  });

  it("contains the page, and the main package does not", () => {
    for (const file of ["LICENSE", "README.md", "page/index.html", "page/main.js", "page/third-party.txt"])
      expect([file, existsSync(join(root, PAGE_PACKAGE, file))]).toEqual([file, true]);
    expect(PAGE).toBe(`${PAGE_PACKAGE}/${ofPage.files}`);
    expect(manifest.files.filter((file: string) => /page/.test(file))).toEqual([]);
  });
});

test.each([
  [">=1.1.2 <2", "^1.1.2"],
  [">=0.10.3 <0.11", "~0.10.3"],
  [">=1.31.5 <1.32", "~1.31.5"],
  ["2.17.0", "^2.17.0"],
])("the range %s becomes %s for JSR", (range, expected) => expect(rangeOf(range)).toBe(expected));

test("the message of require says how to load the ES module", () => {
  expect(read("dist/require.cjs")).toContain('load it by await import("reprise") or an import statement, or take Node 22.12');
});

test("README states the size of the main entry to within a tenth", async () => {
  const [, gzipped, minified] = read("README.md").match(/The main entry is (\d+) KB gzipped, and (\d+) KB if your bundler/) as unknown as [
    string,
    string,
    string,
  ];
  const now = await sizes(join(root, "dist"));
  expect(Math.abs(Number(gzipped) * 1024 - now.readable)).toBeLessThan(0.1 * now.readable);
  expect(Math.abs(Number(minified) * 1024 - now.minified)).toBeLessThan(0.1 * now.minified);
});
