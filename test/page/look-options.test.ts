/** Tests the room Look without data or with faulty data: the example, reading options, salvage, and plots of few values. */
import { expect, it } from "vitest";
import { choose, data, dataset, player, rows, whole } from "./look-support.ts";
import { inBrowsers, until } from "./support.ts";

inBrowsers((open) => {
  it("opens an example with one click", async () => {
    const { page } = await open("#look");
    await page.getByRole("button", { name: "Look at an example" }).click();
    await whole(page);
    await dataset(page).getByRole("heading", { name: "cartpole-example" }).waitFor();
    expect(await rows(page).first().getAttribute("aria-setsize")).toBe("30");
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  it("leaves out or fills a bad column, as its message suggests", async () => {
    const { page } = await open("#look");
    await choose(page, data("wild/nullstr.parquet"));
    await page.getByRole("alert").getByText("Enter “Leave out: x” to leave this column out, or “Nulls: x=…” to replace nulls").waitFor();
    await page.getByText("Reading options").click();
    await page.getByLabel("Nulls").fill("x=none");
    await page.getByRole("button", { name: "Read again" }).click();
    await whole(page);
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.getByLabel("Leave out").fill("x");
    await page.getByRole("button", { name: "Read again" }).click();
    await until(
      () => dataset(page).locator(".figures").innerText(),
      (text) => /Leaves\s+7/i.test(text),
      "the leaves without x",
    );
  });

  it("salvages damaged files, and lists the damage in the findings", async () => {
    const { page } = await open("#look");
    await choose(page, data("wild/partial.jsonl"));
    await page.getByRole("alert").getByText("line 6 is not JSON").waitFor();
    await page.getByText("Reading options").click();
    await page.getByLabel(/^Salvage/).check();
    await page.getByRole("button", { name: "Read again" }).click();
    await whole(page);
    await page.getByRole("region", { name: "Findings" }).getByText("line 6 is not JSON", { exact: false }).waitFor();
  });

  it("draws a constant value and an episode of one step in their places", async () => {
    const { page } = await open("#look");
    const line = JSON.stringify({ observation: [5.3, 0], action: 3, reward: 0, done: false });
    await page.getByLabel("Choose files").setInputFiles({ name: "one.jsonl", mimeType: "", buffer: Buffer.from(`${line}\n`) });
    await whole(page);
    await player(page)
      .getByRole("heading", { name: /^Episode 0 / })
      .waitFor();
    const distributions = page.getByRole("region", { name: "Distributions" });
    await distributions.getByRole("img", { name: "Distribution of action" }).waitFor();
    // If a bar is in the middle of its plot, the axis extends from below the value to above it.
    const columns = async (canvas: ReturnType<typeof distributions.locator>) =>
      canvas.evaluate((node: HTMLCanvasElement) => {
        const { data: pixels, width, height } = (node.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, node.width, node.height);
        const isColoured = (x: number, y: number) => {
          const at = 4 * (y * width + x);
          const [red = 0, green = 0, blue = 0, alpha = 0] = [pixels[at], pixels[at + 1], pixels[at + 2], pixels[at + 3]];
          return alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60;
        };
        const rowsOf = Array.from({ length: height }, (_, y) => y);
        return Array.from({ length: width }, (_, x) => x)
          .filter((x) => rowsOf.some((y) => isColoured(x, y)))
          .map((x) => x / width);
      });
    const bars = await columns(distributions.locator(".card", { hasText: "action" }).locator("canvas").first());
    expect(bars.length).toBeGreaterThan(0);
    const middle = bars.reduce((sum, x) => sum + x, 0) / bars.length;
    expect(middle).toBeGreaterThan(0.45);
    expect(middle).toBeLessThan(0.65);
    const points = await columns(player(page).locator(".leaf-plot", { hasText: "action" }).locator("canvas").first());
    expect(points.length).toBeGreaterThan(0);
  });
});
