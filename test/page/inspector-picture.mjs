// Makes docs/inspector.png anew: node test/page/inspector-picture.mjs, after npm run build.
import { join } from "node:path";
import { pages } from "../../build/pages.mjs";
import { root } from "../../build/step.mjs";
import { Browsers } from "../everywhere/browsers.mjs";

const browsers = new Browsers();
const { address, end } = await pages(0);
const page = await (await browsers.get("chromium")).newPage({ viewport: { width: 1000, height: 810 } });
await page.goto(`${address}/test/page/inspector.html?where=page`);
await page.waitForTimeout(8000);
await page.screenshot({ path: join(root, "docs/inspector.png") });
await browsers.close();
await end();
