// Measures how soon the room Look shows a gigabyte from a URL, and how many bytes it reads: `npm run bench:look [-- --check] [FORMAT …]`. The data is created
// once, in the system's temporary folder.
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { PAGE } from "../../build/page.mjs";
import { root } from "../../build/step.mjs";
import { Browsers } from "../../test/everywhere/browsers.mjs";
import { median } from "../measure.mjs";
import { made, NAMES } from "./data.mjs";

const LAUNCHES = 3;
const SECONDS = 2;
const SHARE = 0.05;
const DATA = join(tmpdir(), "reprise-bench-look");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

let sent = 0;
const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(request.url.split("?")[0]));
  if (path.endsWith("/index.json")) {
    const folder = join(DATA, path.replace(/^\/data\//, "").replace(/index\.json$/, ""));
    const files = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());
    return void response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(files.map((name) => ({ path: name, size: statSync(join(folder, name)).size }))));
  }
  const isData = path.startsWith("/data/");
  const file = isData ? join(DATA, path.slice("/data/".length)) : join(root, PAGE, path.replace(/\/$/, "/index.html"));
  if (!existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end();
  const { size } = statSync(file);
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
  const [from, to] = range === null ? [0, size - 1] : [Number(range[1]), Math.min(Number(range[2]), size - 1)];
  const bytes = Buffer.alloc(to - from + 1);
  const handle = openSync(file, "r");
  readSync(handle, bytes, 0, bytes.length, from);
  closeSync(handle);
  if (isData) sent += bytes.length;
  const headers = { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-length": bytes.length };
  if (range === null) response.writeHead(200, headers).end(bytes);
  else response.writeHead(206, { ...headers, "content-range": `bytes ${from}-${to}/${size}` }).end(bytes);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}`;

const asked = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const wanted = NAMES.filter((name) => asked.length === 0 || asked.some((word) => name.includes(word)));
const browsers = new Browsers();
const missed = [];
for (const name of wanted) {
  const size = await made(DATA, name);
  for (const browser of ["chromium", "firefox"]) {
    const all = [];
    for (let k = 0; k < LAUNCHES; k++) all.push(await launch(browser, name));
    const [first, rested, bytes] = ["first", "rested", "bytes"].map((figure) => median(all.map((one) => one[figure])));
    const line = `${name.padEnd(13)} ${(size / 2 ** 30).toFixed(2)} GiB  ${browser.padEnd(9)} first plots ${first.toFixed(2)} s  sample ${rested.toFixed(2)} s  ${((100 * bytes) / size).toFixed(1)} % of the bytes`;
    const holds = first <= SECONDS && bytes <= SHARE * size;
    console.log(`${holds ? "holds " : "MISSED"} ${line}`);
    if (!holds) missed.push(line);
  }
}
await browsers.close();
server.closeAllConnections();
server.close();
if (process.argv.includes("--check") && missed.length > 0) process.exitCode = 1;

/** Opens a dataset by its address, like a user. The time is measured from the click. */
async function launch(browser, name) {
  const page = await (await browsers.get(browser)).newPage();
  try {
    await page.goto(`${address}/#look`);
    const field = page.getByLabel("Address of a dataset");
    await field.fill(`${address}/data/${name}${extname(name) === "" ? "/" : ""}`);
    sent = 0;
    const start = performance.now();
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator(".player .leaf-plot canvas").first().waitFor();
    const first = (performance.now() - start) / 1000;
    await page.getByText(/A sample of|Everything was read/).waitFor();
    return { first, rested: (performance.now() - start) / 1000, bytes: sent };
  } catch (error) {
    throw new Error(`${browser}, ${name}: ${error.message}\n${await page.locator(".trouble").allTextContents()}`);
  } finally {
    await page.close();
  }
}
