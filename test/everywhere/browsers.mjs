// Drives Chromium and Firefox for `npm run everywhere`, and serves the pages of a folder on the loopback interface.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium, firefox } from "playwright-core";
import { CHROMIUM_FLAGS, runtimes } from "../../build/runtimes.mjs";
import { clean, warningsIn } from "./warnings.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json", ".wasm": "application/wasm" };

const LAUNCH = {
  chromium: () => chromium.launch({ executablePath: runtimes().chromium, args: CHROMIUM_FLAGS }),
  firefox: () => firefox.launch({ executablePath: runtimes().firefox, channel: "moz-firefox" }),
};

export class Browsers {
  #open = new Map();

  async get(name) {
    if (!this.#open.has(name)) this.#open.set(name, LAUNCH[name]());
    return this.#open.get(name);
  }

  async version(name) {
    return (await this.get(name)).version();
  }

  /**
   * Returns `globalThis.lines` of a page once its title is "done", or another result once it is ready.
   * @param headers of every response
   * @param bytesOf returns the content of a URL, or undefined to serve a file of the folder
   */
  async lines(name, folder, { path = "/index.html", headers = {}, bytesOf = () => undefined, ...what } = {}) {
    const server = createServer(({ url }, response) => serve(folder, url, headers, bytesOf, response));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      return await this.visit(name, `http://127.0.0.1:${server.address().port}${path}`, what);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  /** Like `lines`, for any address. */
  async visit(name, address, { ready, minutes = 2, result = () => globalThis.lines } = {}) {
    const page = await (await this.get(name)).newPage();
    const said = [];
    page.on("console", (message) => said.push(message.text()));
    const failed = new Promise((_, reject) => page.on("pageerror", reject));
    failed.catch(() => {});
    try {
      await page.goto(address);
      // `waitForFunction` uses eval in the page, which a strict policy forbids.
      const isReady = ready === undefined ? async () => /^(done|failed)/.test(await page.title()) : () => page.evaluate(ready);
      await Promise.race([until(isReady, minutes), failed]);
      const title = await page.title();
      if (title.startsWith("failed")) throw new Error(title);
      clean(warningsIn(said.join("\n")), true);
      return await page.evaluate(result);
    } catch (error) {
      throw new Error(`${error.message}\n${said.slice(0, 20).join("\n")}`);
    } finally {
      await page.close();
    }
  }

  async close() {
    for (const browser of this.#open.values()) await (await browser).close();
  }
}

async function until(isReady, minutes) {
  for (const end = Date.now() + 60_000 * minutes; !(await isReady()); await new Promise((resolve) => setTimeout(resolve, 100))) {
    if (Date.now() > end) throw new Error(`it is not ready after ${minutes} minutes`);
  }
}

function serve(folder, url, headers, bytesOf, response) {
  try {
    const path = normalize(decodeURIComponent(url.split("?")[0]));
    const body = bytesOf(url) ?? readFileSync(join(folder, path));
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream", ...headers });
    response.end(body);
  } catch {
    response.writeHead(404);
    response.end();
  }
}
