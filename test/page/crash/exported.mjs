// Checks all episodes that the room exported: each has the steps that the list shows, and its states follow from its seed and its actions.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { unzipSync } from "fflate";
import { openRlds } from "reprise/rlds";
import { opened } from "./room.mjs";

const FORMATS = ["tfds", "lerobot", "lerobot-images", "minari"];

export async function exported(page, folder, known) {
  for (const box of await page.locator(".record .list input").all()) await box.check();
  const { rows } = await opened(page);
  for (const format of FORMATS) {
    await page.getByLabel("Format").selectOption(format);
    const download = page.waitForEvent("download", { timeout: 300_000 });
    const refused = page.locator(".record .export [role=alert]").innerText({ timeout: 300_000 });
    refused.catch(() => {});
    await page.getByRole("button", { name: "Download as a zip" }).click();
    const file = await Promise.race([download, refused]);
    if (typeof file === "string") throw new Error(`the export as ${format} says: ${file}`);
    await file.saveAs(join(folder, `docking-${format}.zip`));
  }
  const zip = unzipSync(readFileSync(join(folder, "docking-tfds.zip")));
  const data = await openRlds(new Map(Object.entries(zip).map(([path, bytes]) => [path.slice(path.indexOf("/") + 1), bytes])));
  const { Game, limited } = await game();
  const listed = new Map(rows.map((row) => [row.id, row]));
  let [episodes, steps] = [0, 0];
  for await (const { episode_id: id, seed, steps: given } of data) {
    const row = listed.get(id);
    const simulated = new Game(seed);
    let [count, sum, ended] = [0, 0, false];
    for await (const { observation, action, reward, is_last } of given) {
      const wanted = simulated.observation();
      if (observation.state.some((one, i) => one !== wanted[i])) throw new Error(`episode ${id}, step ${count}: another state than its actions lead to`);
      if (is_last) {
        ended = true;
        continue;
      }
      simulated.step(limited(action[0], action[1]));
      sum += reward;
      count++;
    }
    // An interrupted episode lacks the result of its last action.
    const expected = row.ending === "cut" ? row.steps - 1 : row.steps;
    if (!ended || count !== expected) throw new Error(`episode ${id} has ${count} steps in the export, and ${row.steps} in the list`);
    if (row.ending !== "cut" && Math.abs(sum - row.return) > 0.006)
      throw new Error(`episode ${id} has the return ${sum} in the export, and ${row.return} in the list`);
    if (known.get(id)?.steps !== row.steps) throw new Error(`episode ${id} was shown with ${known.get(id)?.steps} steps`);
    episodes++;
    steps += row.steps;
  }
  await data.close();
  // The last step of an interrupted episode is only an observation, so an interrupted episode of one step is not exported.
  const whole = rows.filter((row) => row.ending !== "cut" || row.steps > 1);
  if (episodes !== whole.length) throw new Error(`${episodes} episodes are in the export, and ${whole.length} in the list`);
  return { episodes, steps };
}

/** Loads the game of the page. */
async function game() {
  const { outputFiles } = await build({ entryPoints: ["page/record/game.ts"], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
