// Runs pages without a bundler, with an import map, with a strict policy, and in a worker.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifestIn, subpaths } from "../../../build/manifest.mjs";

/** The program of a page. It sets the title when everything is done. */
export const main = (short) => `import { shown } from "./suite.mjs";\nshown(${JSON.stringify({ short })});\n`;

export const page = (script) => `<!doctype html><meta charset="utf-8" /><title>…</title><script type="module" src="${script}"></script>\n`;

const worker = (short) => `import { suite } from "./suite.mjs";
suite((line) => postMessage(line), ${JSON.stringify({ short })}).then(
  () => postMessage(null),
  (error) => postMessage({ failed: String(error.stack ?? error) }),
);
`;

const STARTER = `globalThis.lines = [];
const worker = new Worker("./worker.bundled.js", { type: "module" });
worker.onerror = (event) => (document.title = "failed: " + event.message);
worker.onmessage = ({ data }) => {
  if (data?.failed) document.title = "failed: " + data.failed;
  else if (data === null) document.title = "done";
  else globalThis.lines.push(data);
};
`;

/** A policy that allows only the page's own scripts, no scripts from strings, and the compilation of WebAssembly. */
const STRICT = { "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; img-src 'self'" };

export async function rows(workshop, browsers) {
  const { build } = await import("esbuild");
  const bundled = async (folder, entry) => {
    const outfile = join(folder, entry.replace(/\.m?js$/, ".bundled.js"));
    await build({ absWorkingDir: folder, entryPoints: [entry], outfile, bundle: true, format: "esm", logLevel: "error" });
  };
  const of = async (name, title) => {
    const versioned = { version: await browsers.version(name), found: true };
    return [
      {
        where: `${title}, a page with an import map`,
        ...versioned,
        suite: (short) => browsers.lines(name, mapped(workshop.project(`${name}-map`, { files: { "main.js": main(short) } }))),
      },
      {
        where: `${title}, a strict Content-Security-Policy`,
        ...versioned,
        short: true,
        async suite(short) {
          const folder = workshop.project(`${name}-policy`, { files: { "main.js": main(short), "index.html": page("./main.bundled.js") } });
          await bundled(folder, "main.js");
          return browsers.lines(name, folder, { headers: STRICT });
        },
      },
      {
        where: `${title}, a Web Worker`,
        ...versioned,
        short: true,
        async suite(short) {
          const folder = workshop.project(`${name}-worker`, { files: { "main.js": STARTER, "worker.js": worker(short), "index.html": page("./main.js") } });
          await bundled(folder, "worker.js");
          return browsers.lines(name, folder);
        },
      },
    ];
  };
  return [...(await of("chromium", "Chromium")), ...(await of("firefox", "Firefox"))];
}

/** Returns a page whose import map lists each subpath. The optional packages are missing. */
function mapped(folder) {
  const installed = subpaths(manifestIn(join(folder, "node_modules/reprise")));
  const imports = Object.fromEntries(installed.map(({ name, file }) => [name, `/node_modules/reprise/${file}`]));
  const map = `<script type="importmap">${JSON.stringify({ imports })}</script>`;
  writeFileSync(join(folder, "index.html"), page("./main.js").replace("<script", `${map}<script`));
  return folder;
}
