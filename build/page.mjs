// The page: what stands in page/, as a folder that any server can show. It loads the package as its users do, by its name.
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { noticesOf } from "./bundle.mjs";
import { sourcesIn } from "./chunks.mjs";
import { files, root, step } from "./step.mjs";

export const PAGE = "dist/page";

/** Files that stand in the folder as they are. */
const ASIDE = ["index.html", "icon.svg"];

/** Builds the page into `dist/page`. */
export async function page() {
  const sources = [
    ...files("page"),
    ...files("examples/cartpole"),
    "examples/random.js",
    ...files("src"),
    "dist/core-bytes.js",
    "build/page.mjs",
    "package-lock.json",
  ];
  await step("page", "dist/.stamp-page", sources, async () => {
    const { build } = await import("esbuild");
    const workers = files("page", "worker.ts").filter((file) => !file.startsWith(join("page", "parts")));
    rmSync(PAGE, { recursive: true, force: true });
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
    // What the package itself holds of others is in the page, too.
    const inside = sourcesIn(metafile).filter((file) => !file.startsWith("(disabled)"));
    const notices = noticesOf(inside, "This page holds code of these packages.");
    writeFileSync(`${PAGE}/third-party.txt`, `${notices}\n${readFileSync("dist/third-party.txt", "utf8")}`);
  });
}

/** Serves the page on loopback, and says where. @param port the wanted one, or another where that is taken */
export async function servePage(port) {
  await page();
  const { pages } = await import("./pages.mjs");
  const { address } = await pages(port, `${root}/${PAGE}`).catch(() => pages(0, `${root}/${PAGE}`));
  console.log(`${address}/ shows the page, until Ctrl-C`);
}
