/** Opens the built page in real browsers as visitors do, with only files on the loopback interface. Tests of all rooms use this module. */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, firefox, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect } from "vitest";
import { PAGE } from "../../build/page.mjs";
import { CHROMIUM_FLAGS, runtimes } from "../../build/runtimes.mjs";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

export const FOLDER = join(root, PAGE);

/** With `npm run test:page`, both browsers are required. */
const required = process.env.REPRISE_PAGE === "all";

const TYPES: { readonly [ending: string]: string } = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".txt": "text/plain",
};

/** The headers of a server that isolates its pages. */
export const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

export interface Served {
  /** The address ends with a slash. */
  readonly address: string;
  end(): Promise<void>;
}

type Named = Readonly<Record<string, string>>;
/** The headers of a response, which may depend on the URL. */
type Headers = Named | ((url: string) => Named);

/** Serves the files of a folder below `/under/`, so that absolute addresses fail. */
export async function serve(folder = FOLDER, headers: Headers = {}): Promise<Served> {
  const server = createServer((request, response) => answer(folder, headers, request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/under/`,
    end: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(folder: string, headers: Headers, { url = "/" }: IncomingMessage, response: ServerResponse): void {
  const path = normalize(decodeURIComponent(url.split("?")[0] as string));
  const file = join(folder, path.replace(/^\/under\//, "/").replace(/\/$/, "/index.html"));
  if (!path.startsWith("/under/") || !existsSync(file) || !statSync(file).isFile()) return void response.writeHead(404).end();
  const more = typeof headers === "function" ? headers(url) : headers;
  response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", ...more });
  createReadStream(file).pipe(response);
}

/** Playwright makes Firefox keep up to 200 MB of responses in its process. This is the smallest possible limit. */
const COLLECTED = 20_000_000;

/** The limits in milliseconds for a test, and for something to appear in a page. They only stop what hangs: browsers are slow on a busy machine. */
const HANGS = 900_000;
const WAITS = 240_000;

export type BrowserName = "chromium" | "firefox";

export function launch(name: BrowserName): Promise<Browser> {
  const { [name]: executablePath } = runtimes();
  if (executablePath === undefined) throw new Error(`${name} is not installed: npm run test:page installs it on Debian, as root`);
  if (name === "chromium") return chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
  return firefox.launch({ executablePath, channel: "moz-firefox", firefoxUserPrefs: { "remote.network.maxTotalDataSize": COLLECTED } });
}

export interface Visit {
  readonly page: Page;
  /** Errors and warnings of the console, and thrown errors. It must be empty at the end of the test, so remove expected entries. */
  readonly errors: string[];
}

/** Opens the page as a new visitor without stored data. @param path such as "#live" */
export type Open = (path?: string, options?: BrowserContextOptions) => Promise<Visit>;

/** Collects the errors that a page reports. */
export function errorsOf(page: Page): string[] {
  const errors: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => errors.push(error.stack ?? error.message));
  return errors;
}

/**
 * Defines a group of tests in each installed browser. `npm test` skips them, because they take minutes: `npm run test:page`. @param headers of the responses of
 * the server
 */
export function inBrowsers(tests: (open: Open, name: BrowserName) => void, headers: Named = {}): void {
  for (const name of ["chromium", "firefox"] as const) {
    const there = whole && runtimes()[name] !== undefined;
    describe.runIf(required || there)(name, { timeout: HANGS }, () => {
      let browser: Browser;
      let served: Served;
      const visits: Visit[] = [];
      beforeAll(async () => {
        if (!existsSync(join(FOLDER, "index.html"))) throw new Error(`${PAGE} is not there: npm run build:page makes it`);
        served = await serve(FOLDER, headers);
        browser = await launch(name);
      }, HANGS);
      afterAll(async () => {
        await browser?.close();
        await served?.end();
      });
      afterEach(async () => {
        const errors = visits.flatMap((visit) => visit.errors);
        for (const { page } of visits.splice(0)) await page.context().close();
        expect(errors).toEqual([]);
      });
      tests(async (path = "", options = {}) => {
        const context = await browser.newContext(options);
        context.setDefaultTimeout(WAITS);
        const page = await context.newPage();
        const visit = { page, errors: errorsOf(page) };
        visits.push(visit);
        await page.goto(served.address + path);
        return visit;
      }, name);
    });
  }
}

/** Waits until a query returns the expected result. It runs no code from text in the page, which its policy forbids. */
export async function until<T>(ask: () => Promise<T> | T, wanted: (answer: T) => boolean, what: string, ms = WAITS): Promise<T> {
  for (const end = Date.now() + ms; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms / 1000} s; the last answer was ${JSON.stringify(answer)}`);
  }
}

/** Runs a script in the worker of a room before its own script. */
export function inWorker(page: Page, room: "live" | "look" | "record", script: string): Promise<void> {
  return page.route(`**/${room}/worker.js`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: `${script}\n${await response.text()}` });
  }) as Promise<unknown> as Promise<void>;
}
