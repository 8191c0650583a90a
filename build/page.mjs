// Bundles the page and its package, `reprise-page`: the folder page/ for any server, with a separate manifest. The page imports the main package by name, as
// users do.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { noticesOf } from "./bundle.mjs";
import { sourcesIn } from "./chunks.mjs";
import { manifestIn } from "./manifest.mjs";
import { files, root, step } from "./step.mjs";

/** The folder of the package in the form that npm packs. `npx reprise serve-page` in a clone finds it here (src/cli/page/page-folder.ts). */
export const PAGE_PACKAGE = "dist/reprise-page";

/** The folder in the package that a server serves. */
export const PAGE = `${PAGE_PACKAGE}/page`;

/** The README of the package, which is not part of the page. */
export const PAGE_README = "page/README.md";

/** The files of page/ that are copied unchanged. */
const ASIDE = ["index.html", "icon.svg"];

/** Returns the manifest, with the version of the main package. npm does not install it next to another version of the main package. */
function manifestOfPage({ name, version, private: unpublished, license, engines } = manifestIn()) {
  return {
    name: `${name}-page`,
    version,
    private: unpublished,
    description: "The page of Reprise, which shows datasets, journals and snapshots: npx reprise serve-page PATH",
    license,
    type: "module",
    engines,
    files: ["page"],
    exports: { "./package.json": "./package.json" },
    peerDependencies: { [name]: version },
    peerDependenciesMeta: { [name]: { optional: true } },
  };
}

/** Builds the page and its package. */
export async function page() {
  const sources = [
    ...files("page"),
    ...files("examples/cartpole"),
    "examples/random.js",
    ...files("src"),
    "dist/core-bytes.js",
    "build/page.mjs",
    "package.json",
    "package-lock.json",
    "LICENSE",
  ];
  await step("page", "dist/.stamp-page", sources, async () => {
    const { build } = await import("esbuild");
    const workers = files("page", "worker.ts").filter((file) => !file.startsWith(join("page", "parts")));
    rmSync(PAGE_PACKAGE, { recursive: true, force: true });
    const { metafile } = await build({
      entryPoints: ["page/main.ts", "page/page.css", ...workers],
      outdir: PAGE,
      outbase: "page",
      bundle: true,
      splitting: true,
      chunkNames: "chunks/[name]-[hash]",
      assetNames: "assets/[name]-[hash]",
      format: "esm",
      platform: "browser",
      target: "es2022",
      charset: "utf8",
      minify: true,
      legalComments: "none",
      logLevel: "warning",
      loader: { ".wasm": "file" },
      metafile: true,
    });
    for (const file of ASIDE) copyFileSync(`page/${file}`, `${PAGE}/${file}`);
    // The page also contains the third-party code of the package.
    const inside = sourcesIn(metafile).filter((file) => !file.startsWith("(disabled)"));
    const notices = noticesOf(inside, "This page holds code of these packages.");
    writeFileSync(`${PAGE}/third-party.txt`, `${notices}\n${readFileSync("dist/third-party.txt", "utf8")}`);
    copyFileSync("LICENSE", `${PAGE_PACKAGE}/LICENSE`);
    copyFileSync(PAGE_README, `${PAGE_PACKAGE}/README.md`);
    // The manifest is written last: a package without one belongs to a failed build and is not found.
    writeFileSync(`${PAGE_PACKAGE}/package.json`, `${JSON.stringify(manifestOfPage(), null, 2)}\n`);
  });
}

/** Serves the page on loopback, and prints its address. @param port the preferred port; another port is used if it is taken */
export async function servePage(port) {
  await page();
  const { pages } = await import("./pages.mjs");
  const { address } = await pages(port, `${root}/${PAGE}`).catch(() => pages(0, `${root}/${PAGE}`));
  console.log(`${address}/ shows the page, until Ctrl-C`);
}
