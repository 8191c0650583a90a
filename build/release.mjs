// Prepares dist/release for publishing: both packages in the form that npm packs, with the address of the repository wherever it belongs. `npm run release [--
// --publish]`.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { manifestIn, PEERS } from "./manifest.mjs";
import { PAGE_PACKAGE, PAGE_README } from "./page.mjs";
import { runtimes } from "./runtimes.mjs";
import { printed, root } from "./step.mjs";

const ADDRESS = "build/address.json";

/** @returns the contents of build/address.json, with the repository that was passed, if any @throws Error if the repository is missing or not a valid URL */
export function addressOf(given, address = JSON.parse(readFileSync(join(root, ADDRESS), "utf8"))) {
  const repository = given ?? address.repository;
  if (typeof repository !== "string") throw new Error(`no release without an address: write the repository's URL into ${ADDRESS}, or give --repository URL`);
  if (!/^https:\/\/[\w.-]+\/[\w./-]+[\w-]$/.test(repository)) throw new Error(`repository must be a URL like https://HOST/OWNER/NAME, got ${repository}`);
  return { ...address, repository };
}

/** Returns the manifest of a published package: without build settings, and with its repository. */
export function manifestOf({ private: _, scripts, devDependencies, overrides, ...manifest }, { repository }) {
  return {
    ...manifest,
    homepage: `${repository}#readme`,
    bugs: { url: `${repository}/issues` },
    repository: { type: "git", url: `git+${repository}.git` },
    publishConfig: { access: "public", provenance: true },
  };
}

/** Matches the part of the README that applies only until the first release. */
const UNTIL = /<!-- until the release -->\n[\s\S]*?<!-- released -->\n\n?/;

/**
 * Returns a page in the form for a registry. There are no neighboring files there, so links and pictures refer to the repository.
 * @throws Error for a dead link
 */
export function absolute(page, path, { repository, file, picture }, version) {
  const fill = (pattern, target) => pattern.replace("{repository}", repository).replace("{version}", version).replace("{path}", target);
  const link = (pattern) => (whole, before, target, after) => {
    if (/^(https?:|mailto:|#)/.test(target)) return whole;
    const [name, fragment] = target.split("#");
    const found = posix.join(posix.dirname(path), name);
    if (!existsSync(join(root, found))) throw new Error(`${path} links to ${target}, which is not there`);
    return `${before}${fill(pattern, found)}${fragment === undefined ? "" : `#${fragment}`}${after}`;
  };
  return page
    .replace(UNTIL, "")
    .replaceAll(/(!\[[^\]]*\]\()([^)\s]+)(\))/g, link(picture))
    .replaceAll(/(<(?:img|source)\b[^>]*?\b(?:src|srcset)=")([^"]+)(")/g, link(picture))
    .replaceAll(/((?<!!)\[(?:[^\]]|\]\()*?\]\()([^)\s]+)(\))/g, link(file));
}

/** Copies a package into a folder. @param pages the package's documents with links, and the corresponding files of this project */
export function stage(folder, address, from = root, pages = { "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md" }) {
  const manifest = manifestIn(from);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const [{ filename }] = JSON.parse(printed(from, "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]));
  printed(folder, "tar", ["-xzf", filename, "--strip-components=1"]);
  rmSync(join(folder, filename));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifestOf(manifest, address), null, 2)}\n`);
  for (const [page, source] of Object.entries(pages)) {
    writeFileSync(join(folder, page), absolute(readFileSync(join(root, source), "utf8"), source, address, manifest.version));
  }
}

/** Prepares the sources for JSR, which accepts TypeScript. Removes the global declarations, which JSR rejects, and maps imported packages to npm. */
export function stageJsr(folder, address) {
  const { devDependencies, peerDependencies, version } = manifestIn();
  const jsr = JSON.parse(readFileSync(join(root, "jsr.json"), "utf8"));
  rmSync(folder, { recursive: true, force: true });
  const cli = join(root, "src/cli");
  for (const path of jsr.publish.include) cpSync(join(root, path), join(folder, path), { recursive: true, filter: (file) => file !== cli });
  writeFileSync(join(folder, "src/base/host.ts"), hostOfDeno(readFileSync(join(root, "src/base/host.ts"), "utf8")));
  for (const page of ["README.md", "CHANGELOG.md"]) writeFileSync(join(folder, page), absolute(readFileSync(join(root, page), "utf8"), page, address, version));
  const imports = { ...jsr.imports };
  for (const name of PACKAGES) {
    const range = rangeOf(peerDependencies[name] ?? devDependencies[name]);
    imports[name] = `npm:${name}@${range}`;
    imports[`${name}/`] = `npm:/${name}@${range}/`;
  }
  writeFileSync(join(folder, "jsr.json"), `${JSON.stringify({ ...jsr, imports }, null, 2)}\n`);
}

/** Converts a range for JSR: ">=VERSION <BOUND" becomes ~VERSION if the bound has a minor version. Any other range becomes ^VERSION. */
export function rangeOf(range) {
  const [version, bound = ""] = range.replace(">=", "").split(" ");
  return `${bound.includes(".") ? "~" : "^"}${version}`;
}

/** The packages that the sources import by name. The build bundles them, except the peers. */
const PACKAGES = [
  ...PEERS,
  ...["@bufbuild/protobuf", "@foxglove/cdr", "@foxglove/rosmsg", "@foxglove/rosmsg2-serialization", "@mcap/core"],
  ...["fast-png", "fflate", "fzstd", "jpeg-js", "papaparse", "uplot"],
];

/** Returns src/base/host.ts without its global declarations, which JSR rejects. */
function hostOfDeno(text) {
  const without = text.replace(/^\/\/\/.*\n/m, "").replace(/declare global \{[\s\S]*?\n\}\n/, "");
  if (without === text) throw new Error("src/base/host.ts declares no globals any more: take this step out of build/release.mjs");
  return without;
}

/** Prepares the packages for npm and JSR, checks them, and does a dry run of publishing. With `--publish`, it then publishes them. */
export function release(args) {
  const at = args.indexOf("--repository");
  const address = addressOf(at < 0 ? undefined : args[at + 1]);
  const npm = join(root, "dist/release/npm");
  const page = join(root, "dist/release/npm-page");
  const jsr = join(root, "dist/release/jsr");
  stage(npm, address);
  stage(page, address, join(root, PAGE_PACKAGE), { "README.md": PAGE_README });
  stageJsr(jsr, address);
  const bin = (name) => join(root, "build/tools/node_modules/.bin", name);
  const { deno } = runtimes();
  const tools = {
    publint: () => printed(npm, bin("publint"), ["--strict"]),
    // In old versions of Node, `require` loads a module that throws an error (require.cjs) and has no types.
    "are the types wrong?": () => printed(npm, bin("attw"), ["--pack", ".", "--profile", "esm-only", "--ignore-rules", "false-esm"]),
  };
  const publish = {
    "npm publish": (...dry) => printed(npm, "npm", ["publish", ...dry]),
    "npm publish (page)": (...dry) => printed(page, "npm", ["publish", ...dry]),
    // JSR has to infer some types, which it accepts. The published folder is not under version control.
    "deno publish": (...dry) => printed(jsr, deno, ["publish", "--allow-slow-types", "--allow-dirty", ...dry]),
  };
  const all = { ...tools, ...Object.fromEntries(Object.entries(publish).map(([name, work]) => [`${name} --dry-run`, () => work("--dry-run")])) };
  for (const [name, work] of [
    ...Object.entries(all),
    ...(args.includes("--publish") ? [["where it comes from", checkOrigin], ...Object.entries(publish)] : []),
  ]) {
    work();
    console.log(`ok ${name}`);
  }
}

/**
 * Checks that the checkout is clean and at the tag of the version, to which links refer, and that this process runs where npm accepts a provenance.
 * @throws Error otherwise, before anything is published
 */
function checkOrigin() {
  const { version } = manifestIn();
  if (printed(root, "git", ["status", "--porcelain"]) !== "") throw new Error("publish from a clean checkout: commit what git status shows");
  const [tag, head] = [`v${version}^{commit}`, "HEAD"].map((name) => printed(root, "git", ["rev-parse", name]));
  if (tag !== head) throw new Error(`publish from the tag v${version}`);
  if (process.env.GITHUB_ACTIONS === undefined && process.env.GITLAB_CI === undefined)
    throw new Error("publish from GitHub Actions or GitLab CI: npm takes the provenance from nowhere else");
}
