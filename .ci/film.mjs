// Creates a LeRobot dataset with two films in Chromium, in the same way as a page.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Browsers } from "../test/everywhere/browsers.mjs";
import { leaf } from "./synthetic.mjs";

const root = join(import.meta.dirname, "..");
const FOLDERS = ["dist", "node_modules/hyparquet", "node_modules/hyparquet-writer", "node_modules/mediabunny"];
const IMPORTS = {
  "reprise/rlds": "/dist/rlds.js",
  hyparquet: "/node_modules/hyparquet/src/index.js",
  "hyparquet/src/": "/node_modules/hyparquet/src/",
  "hyparquet-writer": "/node_modules/hyparquet-writer/src/index.js",
  mediabunny: "/node_modules/mediabunny/dist/bundles/mediabunny.mjs",
};
const spec = {
  observation: { images: { top: leaf("u8", [48, 64, 3]), wrist: leaf("u8", [32, 32, 3]) }, state: leaf("f32", [2]) },
  action: leaf("f32", [2]),
  reward: leaf("f32"),
  ...{ is_first: leaf("bool"), is_last: leaf("bool"), is_terminal: leaf("bool") },
};
const LENGTHS = [20, 7, 33];

/**
 * Returns episodes with the same pictures in the page and here. The pictures are gray, because films store colours at half the resolution, and change fast, so
 * that consecutive pictures differ.
 */
function episodesOf(lengths) {
  const picture = (height, width, t) =>
    Array.from({ length: height * width * 3 }, (_, i) => {
      const [x, y] = [Math.floor(i / 3) % width, Math.floor(i / 3 / width)];
      return Math.round(127 + 90 * Math.sin((x + y * 2) / 14 + t * 0.7));
    });
  return lengths.map((length, k) => ({
    steps: Array.from({ length }, (_, i) => ({
      observation: { images: { top: picture(48, 64, i + 5 * k), wrist: picture(32, 32, 3 * i - k) }, state: [i, k] },
      action: [i / 2, -k],
      reward: i,
      ...{ is_first: i === 0, is_last: i === length - 1, is_terminal: i === length - 1 },
    })),
  }));
}

const PAGE = `<!doctype html><title>…</title><link rel="icon" href="data:,"><script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script><script type="module">
import { mediabunnyEncoder, memorySink, openLeRobot, writeLeRobot } from "reprise/rlds";
import * as mediabunny from "mediabunny";
try {
  const data = Object.assign((${episodesOf})(${JSON.stringify(LENGTHS)}), { stepSpec: ${JSON.stringify(spec)}, metadataSpec: {} });
  const files = memorySink();
  const videos = ["observation/images/top", "observation/images/wrist"];
  await writeLeRobot(data, files, { fps: 30, finalStep: "transition", videos, videoEncoder: mediabunnyEncoder(mediabunny), fileBytes: 60_000 });
  globalThis.lines = [...files].map(([path, bytes]) => [path, bytes.reduce((text, byte) => text + String.fromCharCode(byte), "")]);
  document.title = "done";
} catch (error) {
  document.title = "failed: " + error.stack;
}
</script>`;

/** Films episodes into the folder `to`. @returns their spec and the episodes */
export async function film(to) {
  const site = `${to}-page`;
  const browsers = new Browsers();
  try {
    for (const folder of FOLDERS) {
      mkdirSync(dirname(join(site, folder)), { recursive: true });
      symlinkSync(join(root, folder), join(site, folder));
    }
    writeFileSync(join(site, "index.html"), PAGE);
    for (const [path, text] of await browsers.lines("chromium", site)) {
      mkdirSync(dirname(join(to, path)), { recursive: true });
      writeFileSync(join(to, path), Buffer.from(text, "latin1"));
    }
    return { spec, episodes: episodesOf(LENGTHS) };
  } finally {
    await browsers.close();
    rmSync(site, { recursive: true, force: true });
  }
}
