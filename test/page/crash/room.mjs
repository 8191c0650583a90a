// Plays in the room Record like a careless user.

const KEYS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];
/** The number of episodes above which old episodes are deleted. */
const MANY = 40;

/** Returns the data that the page shows as saved, or undefined if it shows nothing yet. */
export async function shown(page) {
  return page.evaluate(() => {
    const figures = [...document.querySelectorAll(".record .figures dd")].map((dd) => dd.textContent.replaceAll(",", ""));
    if (!/^\d+$/.test(figures[1] ?? "")) return undefined;
    const rows = [...document.querySelectorAll(".record .list tbody tr")].map((row) => {
      const [id, steps, sum, ending] = [...row.children].map((cell) => cell.textContent.replaceAll(",", ""));
      return { id: Number(id), steps: Number(steps), return: Number(sum), ending, used: row.querySelector("input").checked };
    });
    const troubles = [...document.querySelectorAll("[role=alert]")].map((alert) => alert.textContent);
    return { rows, episodes: Number(figures[0]), steps: Number(figures[1]), status: document.querySelector(".record .status").textContent, troubles };
  });
}

/** Waits until the room has opened, and returns the data that it shows. */
export async function opened(page) {
  for (const end = Date.now() + 60_000; ; await page.waitForTimeout(50)) {
    const seen = await shown(page);
    if (seen?.troubles.length > 0) throw new Error(`the room says: ${seen.troubles[0]}`);
    if (seen !== undefined && (await page.locator(".record .play").isEnabled())) return seen;
    if (Date.now() > end) throw new Error("the room did not open within a minute");
  }
}

/** @throws Error if something that was shown as saved is missing */
export function compare(before, now) {
  if (now.rows.length !== now.episodes) throw new Error(`${now.episodes} episodes are counted, and ${now.rows.length} listed`);
  const there = new Map(now.rows.map((row) => [row.id, row]));
  for (const row of before.rows) {
    // A pending deletion or selection may or may not have completed.
    if (row.id === before.touched) continue;
    const found = JSON.stringify(there.get(row.id));
    if (found !== JSON.stringify(row)) throw new Error(`an episode that was shown as saved, ${JSON.stringify(row)}, is now ${found}`);
  }
  const allowed = before.touched === undefined ? 0 : (before.rows.find(({ id }) => id === before.touched)?.steps ?? 0);
  if (now.steps < before.steps - allowed) throw new Error(`${before.steps} steps were shown as saved, and ${now.steps} are there`);
  const fresh = now.rows.filter(({ id }) => before.rows.every((row) => row.id !== id));
  const sum = now.rows.reduce((total, { steps }) => total + steps, 0);
  if (sum !== now.steps) throw new Error(`${now.steps} steps are counted, and the episodes have ${sum}`);
  const cut = fresh.find(({ ending }) => ending === "cut");
  if (cut !== undefined && !before.opening && !now.status.includes(`during episode ${cut.id}. Its ${cut.steps} saved steps`))
    throw new Error(`episode ${cut.id} was cut, and the room says: ${now.status}`);
}

/** Plays, selects and deletes until it is stopped or the tab is gone. `look` receives each state of the page. */
export function play(page, random, look) {
  let playing = true;
  let touched;
  const any = (list) => list[Math.floor(random() * list.length)];
  const watch = async () => {
    while (playing) {
      const seen = await shown(page);
      // States after the kill are ignored. States read before were on the page.
      if (playing && seen !== undefined) look({ ...seen, touched });
      await page.waitForTimeout(15);
    }
  };
  const act = async () => {
    await page.locator(".record .play").click();
    while (playing) {
      const key = any(KEYS);
      await page.keyboard.down(key);
      await page.waitForTimeout(100 + random() * 500);
      await page.keyboard.up(key);
      if (random() > 0.06 || !playing) continue;
      const { rows } = await shown(page);
      if (!playing || rows.length === 0) continue;
      const { id } = rows.length > MANY ? rows.at(-1) : any(rows);
      touched = id;
      const name = `${rows.length > MANY ? "Delete" : "Use"} episode ${id}`;
      const there = async () => (await shown(page)).rows.some((row) => row.id === id);
      const changing = async () => (rows.length > MANY ? there() : page.getByRole("checkbox", { name, exact: true }).isDisabled());
      await page.getByLabel(name, { exact: true }).click();
      while (playing && (await changing())) await page.waitForTimeout(10);
      await page.locator(".record .stage").focus();
      if (playing) touched = undefined;
    }
  };
  const quietly = (work) => work.catch(() => {});
  const ended = Promise.all([quietly(watch()), quietly(act())]);
  return {
    ended,
    /** The number of the episode that a running change selects or deletes, or undefined. */
    get touched() {
      return touched;
    },
    stop() {
      playing = false;
    },
  };
}
