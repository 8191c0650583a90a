/** Drives Chromium for tests, with an empty profile and a server on the loopback interface for pages of the project. */
import { type Browser, chromium, type Page } from "playwright-core";
import { ISOLATED, pages } from "../../build/pages.mjs";
import { CHROMIUM_FLAGS } from "../../build/runtimes.mjs";

/** The format of the protocol's HeapProfiler: the allocations of each function, and its callees. */
interface Allocations {
  readonly callFrame: { readonly url: string };
  readonly selfSize: number;
  readonly children: readonly Allocations[];
}

export class Chromium {
  readonly #browser: Browser;
  readonly #address: string;
  readonly #endPages: () => Promise<void>;

  private constructor(browser: Browser, { address, end }: Awaited<ReturnType<typeof pages>>) {
    this.#browser = browser;
    this.#address = address;
    this.#endPages = end;
  }

  static async start(executablePath: string): Promise<Chromium> {
    const browser = await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
    return new Chromium(browser, await pages(0));
  }

  /** Opens a page of the project in a separate process, and waits until it is ready. `lines` collects its log. Throws errors of the page. */
  async open(path: string, ready: string): Promise<{ page: Page; lines: string[] }> {
    const page = await this.#browser.newPage();
    const lines: string[] = [];
    // The route below hides the origin of the page, and thereby its right to access the loopback.
    await page.context().grantPermissions(["local-network-access"]);
    page.on("console", (message) => lines.push(message.text()));
    const failed = new Promise<never>((_, reject) => page.on("pageerror", reject));
    await page.route(`${this.#address}/**`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), ...ISOLATED } });
    });
    await page.goto(this.#address + path);
    await Promise.race([page.waitForFunction(ready), failed]);
    return { page, lines };
  }

  /** Returns the bytes that functions of a file allocated while the page ran, including collected ones, sampled every 64 bytes on average. */
  async allocated(page: Page, ms: number, file: string): Promise<number> {
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.startSampling", { samplingInterval: 64, includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true });
    await page.waitForTimeout(ms);
    const { profile } = await session.send("HeapProfiler.stopSampling");
    const bytes = ({ callFrame, selfSize, children }: Allocations): number =>
      (callFrame.url.endsWith(file) ? selfSize : 0) + children.reduce((sum, child) => sum + bytes(child), 0);
    return bytes(profile.head);
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.#endPages();
  }
}
