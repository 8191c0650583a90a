// Creates docs/inspector.png and docs/inspector-dark.png, which show part of the inspector with three explanatory call-outs. Run `node
// test/page/inspector-picture.mjs` after `npm run build`.
import { join } from "node:path";
import { pages } from "../../build/pages.mjs";
import { root } from "../../build/step.mjs";
import { Browsers } from "../everywhere/browsers.mjs";

const PICTURES = { light: "docs/inspector.png", dark: "docs/inspector-dark.png" };
/** The card that each call-out marks, and its text: at the end of the card, or in the free space after it. */
const CALLOUTS = [
  { card: "Rate limiter", text: "Draws and inserts pass: nothing waits.", isInside: true },
  { card: "Priorities", text: "A spike at 1: items that no draw has updated yet.", isInside: true },
  { card: "Times sampled over the store", text: "The older an item, the more often it was drawn.", isInside: false },
];

/** Draws the call-outs over the page. It runs in the page. */
function drawCallouts({ callouts, accent, ink, paper }) {
  const make = (css, text = "") => {
    const element = document.createElement("div");
    element.style.cssText = `position:absolute;box-sizing:border-box;z-index:9;${css}`;
    element.textContent = text;
    document.body.append(element);
    return element;
  };
  for (const [i, { box, at, text }] of callouts.entries()) {
    make(`left:${box.x - 2}px;top:${box.y - 2}px;width:${box.width + 4}px;height:${box.height + 4}px;border:3px solid ${accent};border-radius:8px`);
    make(
      `left:${box.x - 12}px;top:${box.y - 12}px;width:26px;height:26px;border-radius:13px;background:${accent};color:${paper};font:600 15px/26px system-ui,sans-serif;text-align:center`,
      String(i + 1),
    );
    const note = make(
      `left:${at.x}px;top:${at.y}px;width:${at.width}px;padding:8px 10px;border-radius:6px;background:${paper};border:2px solid ${accent};color:${ink};font:600 14px/1.35 system-ui,sans-serif`,
      text,
    );
    const number = document.createElement("span");
    number.textContent = `${i + 1} `;
    number.style.color = accent;
    note.prepend(number);
  }
}

const browsers = new Browsers();
const { address, end } = await pages(0);
try {
  for (const [colorScheme, file] of Object.entries(PICTURES)) {
    const page = await (await browsers.get("chromium")).newPage({ viewport: { width: 1000, height: 900 }, colorScheme });
    await page.goto(`${address}/test/page/inspector.html?where=page`);
    await page.waitForTimeout(8000);
    const boxOf = (heading) =>
      page
        .locator("replay-inspector .panel")
        .filter({ hasText: new RegExp(`^\\s*${heading}`) })
        .first()
        .boundingBox({ timeout: 5000 });
    const callouts = [];
    for (const { card, text, isInside } of CALLOUTS) {
      const box = await boxOf(card);
      const at = isInside
        ? { x: box.x + 12, y: box.y + box.height - 84, width: box.width - 24 }
        : { x: box.x + box.width + 22, y: box.y + 70, width: box.width - 30 };
      callouts.push({ box, at, text });
    }
    const { y, height } = await boxOf("Times sampled over the store");
    const isDark = colorScheme === "dark";
    await page.evaluate(drawCallouts, {
      callouts,
      ...(isDark ? { accent: "#f0883e", ink: "#e6edf3", paper: "#161b22" } : { accent: "#bc4c00", ink: "#1f2328", paper: "#ffffff" }),
    });
    await page.screenshot({ path: join(root, file), clip: { x: 8, y: 8, width: 984, height: Math.ceil(y + height) } });
    await page.close();
  }
} finally {
  await browsers.close();
  await end();
}
