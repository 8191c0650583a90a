/** The page around its rooms. */
import { expect, it } from "vitest";
import { inBrowsers } from "./support.ts";

inBrowsers((open) => {
  it("opens its first room, and says so", async () => {
    const { page } = await open();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.title()).toBe("Live · Reprise");
    expect(await page.getByRole("navigation").getByRole("link", { name: "Live" }).getAttribute("aria-current")).toBe("page");
  });
});
