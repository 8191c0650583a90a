/** Tests the page outside its rooms, and the files in its folder. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FOLDER, inBrowsers } from "./support.ts";

describe("the folder", () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" });
  const index = readFileSync(join(FOLDER, "index.html"), "utf8");

  it("contains every file that its page and scripts reference, by relative addresses", () => {
    const named = [...index.matchAll(/(?:href|src)="([^#"]*)"/g)].map((match) => match[1] as string).filter((address) => address !== "");
    expect(named.length).toBeGreaterThan(2);
    for (const address of named) expect(existsSync(join(FOLDER, address)), address).toBe(true);
    for (const file of files.filter((name) => name.endsWith(".js"))) {
      const text = readFileSync(join(FOLDER, file), "utf8");
      const imported = [...text.matchAll(/(?:from|import)\s*\(?"([^"]+\.js)"/g)].map((match) => match[1] as string);
      for (const address of imported) {
        expect(address, file).toMatch(/^\.\.?\//);
        expect(existsSync(join(FOLDER, dirname(file), address)), `${file}: ${address}`).toBe(true);
      }
    }
  });

  it("has no inline scripts and styles in its page, and a policy that forbids them", () => {
    expect(index).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=/);
    const policy = /content="(default-src 'none';[^"]*)"/.exec(index)?.[1] ?? "";
    expect(policy).toContain("script-src 'self' 'wasm-unsafe-eval';");
    expect(policy).not.toContain("unsafe-inline");
  });

  it("names the third-party packages that it contains", () => {
    const notices = readFileSync(join(FOLDER, "third-party.txt"), "utf8");
    for (const name of ["@jax-js/jax", "uplot"]) expect(notices).toMatch(new RegExp(`^${name} \\d`, "m"));
  });
});

inBrowsers((open, name) => {
  it("opens its first room if the address names none or an unknown one", async () => {
    for (const path of ["", "#nothing?a=b"]) {
      const { page } = await open(path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.title()).toBe("Live · Reprise");
      expect(await page.getByRole("navigation").getByRole("link", { name: "Live" }).getAttribute("aria-current")).toBe("page");
    }
  });

  it("sends requests only to its own server", async () => {
    const { page } = await open();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const address = new URL(".", page.url()).href;
    await page.reload();
    await page.locator("canvas.stage").waitFor();
    await page.waitForTimeout(1000);
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter((url) => !url.startsWith(address))).toEqual([]);
  });

  it("lets the keyboard skip to the room, and moves the focus there", async () => {
    const { page } = await open("#live?seed=7");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.className)).toBe("skip");
    await page.keyboard.press("Enter");
    await page.waitForTimeout(300);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("room");
    // The room is the same and has not restarted. It opens again after a reload of the page.
    expect(await page.title()).toBe("Live · Reprise");
    expect(page.url()).toMatch(/#live\?seed=7$/);
  });

  it("runs no scripts or markup from text", async () => {
    const visit = await open("#live");
    const { page } = visit;
    await page.getByRole("heading", { level: 1 }).waitFor();
    const outcome = await page.evaluate(async () => {
      const here = globalThis as { ran?: boolean };
      // Trusted Types reject some attempts with an error before the policy rejects the others.
      const attempt = (what: () => void) => {
        try {
          what();
        } catch {}
      };
      attempt(() => {
        const script = document.createElement("script");
        script.textContent = "globalThis.ran = true";
        document.body.append(script);
      });
      attempt(() => {
        const button = document.createElement("button");
        button.setAttribute("onclick", "globalThis.ran = true");
        button.click();
      });
      const place = document.createElement("div");
      attempt(() => {
        place.innerHTML = "<b>bold</b>";
      });
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { ran: here.ran ?? false, markup: place.childElementCount, knowsTypes: "trustedTypes" in globalThis };
    });
    expect(outcome.ran).toBe(false);
    if (name === "chromium") expect(outcome.knowsTypes).toBe(true);
    if (outcome.knowsTypes) expect(outcome.markup).toBe(0);
    // The browser reports the violations as errors, which this test expects.
    expect(visit.errors.length).toBeGreaterThan(0);
    visit.errors.length = 0;
  });
});
