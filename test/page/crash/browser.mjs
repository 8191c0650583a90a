// Starts Chromium with a profile on the disk, and kills its processes one by one.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { CHROMIUM_FLAGS, runtimes } from "../../../build/runtimes.mjs";

export class Browser {
  #profile;
  #process;
  #connection;
  #errors = [];

  constructor(profile) {
    this.#profile = profile;
  }

  /** Opens the address in a new tab, and starts the browser if necessary. Throws an earlier error of the page. */
  async page(address) {
    if (this.#process === undefined) await this.#start();
    const context = this.#connection.contexts()[0];
    const page = await context.newPage();
    page.on("pageerror", (error) => this.#errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") this.#errors.push(message.text());
    });
    page.on("dialog", (dialog) => dialog.accept().catch(() => {}));
    await page.goto(address);
    const [error] = this.#errors.splice(0);
    if (error !== undefined) throw new Error(`the page said: ${error}`);
    return page;
  }

  /** Kills the processes of all tabs, or all processes, like a crash: none of them can clean up. */
  async kill(what = "browser") {
    if (this.#process === undefined) return;
    if (what === "tab") {
      const session = await this.#connection.newBrowserCDPSession();
      const { processInfo } = await session.send("SystemInfo.getProcessInfo");
      const tabs = processInfo.filter(({ type }) => type === "renderer");
      for (const { id } of tabs) process.kill(id, "SIGKILL");
      await session.detach();
      for (const page of this.#connection.contexts()[0].pages()) await page.close().catch(() => {});
      return;
    }
    const { pid } = this.#process;
    const gone = new Promise((resolve) => this.#process.once("exit", resolve));
    // Kills the whole process group.
    process.kill(-pid, "SIGKILL");
    this.#process = undefined;
    await gone;
    await this.#connection.close().catch(() => {});
  }

  async #start() {
    const { chromium: program } = runtimes();
    if (program === undefined) throw new Error("Chromium is not installed: npm run runtimes installs it on Debian, as root");
    const portFile = join(this.#profile, "DevToolsActivePort");
    rmSync(portFile, { force: true });
    const flags = [
      "--headless",
      ...CHROMIUM_FLAGS,
      `--user-data-dir=${this.#profile}`,
      "--remote-debugging-port=0",
      "--hide-crash-restore-bubble",
      "about:blank",
    ];
    this.#process = spawn(program, flags, { detached: true, stdio: "ignore" });
    for (const end = Date.now() + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
      if (existsSync(portFile) && readFileSync(portFile, "utf8").includes("\n")) break;
      if (Date.now() > end) throw new Error("Chromium did not start within a minute");
    }
    const [port] = readFileSync(portFile, "utf8").split("\n");
    this.#connection = await chromium.connectOverCDP(`http://127.0.0.1:${port}`);
  }
}
