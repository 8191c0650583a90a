import { expect, test } from "vitest";
import { memory } from "../../../src/files/memory.ts";
import { TestRandom } from "../../support/random.ts";
import { type AnyReplay, SCENES, type Scene, sceneNames } from "../../support/scenes.ts";
import { scaled } from "../../support/size.ts";
import { again, opened, Past } from "./opened.ts";
import { draws, seen } from "./seen.ts";

/** Creates a Replay without a journal. */
function alone(scene: Scene): AnyReplay {
  return scene.make();
}

test.each(sceneNames(0))("a reopened Replay continues like one that was not interrupted: %s", async (name) => {
  const scene = SCENES[name] as Scene;
  const [twin, random, same] = [alone(scene), new TestRandom(4), new TestRandom(4)];
  let dir = memory();
  let replay = await opened(scene, dir, { segmentBytes: 16_384, durability: "manual" });
  for (let session = 0; session < 3; session++) {
    for (let i = 0; i < scaled(150, 10); i++) {
      scene.act(replay, random);
      scene.act(twin, same);
    }
    await replay.flush();
    if (session === 1) replay.dispose();
    // In the other sessions, the process disappears without closing.
    dir = dir.crash();
    replay = await opened(scene, dir, { segmentBytes: 16_384, durability: "manual" });
    expect(Object.values(replay.tables).map((table) => table.stats())).toEqual(Object.values(twin.tables).map((table) => table.stats()));
  }
  expect(draws(replay).equals(draws(twin))).toBe(true);
});

const WAYS = sceneNames(1).flatMap((name, i) => [[name, "manual"] as const, ...(i % 4 === 1 ? [[name, "always"] as const] : [])]);

test.each(WAYS)("a crash leaves the state after some call, with all acknowledged calls: %s, %s", async (name, durability) => {
  const scene = SCENES[name] as Scene;
  const random = new TestRandom(name.length);
  const cut = new TestRandom(9);
  const dir = memory();
  const replay = await opened(scene, dir, { segmentBytes: 8192, durability });
  const past = new Past(durability === "manual");
  past.note(replay);
  await replay.flush();
  // With manual durability, the contents are those of one of these moments.
  const moments = new Set([seen(replay).toString("latin1")]);
  for (let k = 1; k <= scaled(300, 15); k++) {
    scene.act(replay, random);
    past.note(replay);
    const dice = random.next();
    if (dice < 0.05) await replay.flush();
    else if (dice < 0.2) replay.journal.keep(k);
    if (dice < 0.2) moments.add(seen(replay).toString("latin1"));
    if (dice < 0.05 || durability === "always") past.acknowledged = k;
    if (dice > 0.9) {
      const left = await again(dir.crash(cut.below(dir.unsynced + 1)));
      past.holds(left);
      if (durability === "manual") expect(moments.has(seen(left).toString("latin1"))).toBe(true);
      left.dispose();
    }
  }
});

test.each([...new Set([...sceneNames(2).filter((_, i) => i % 4 === 0), "packed leaves"])])(
  "the files take at most twice the live bytes plus two segments: %s",
  async (name) => {
    const scene = SCENES[name] as Scene;
    const random = new TestRandom(1);
    const dir = memory();
    const segmentBytes = 32_768;
    const replay = await opened(scene, dir, { segmentBytes, durability: "manual" });
    let max = 0;
    for (let k = 0; k < scaled(20_000, 1500); k++) {
      scene.act(replay, random);
      if (k % 50 === 0) replay.journal.keep(k);
      if (k % 100 === 0) {
        const { bytes, liveBytes } = replay.journal.stats;
        expect(bytes).toBeLessThanOrEqual(2 * liveBytes + 2 * segmentBytes);
        max = Math.max(max, bytes);
      }
    }
    expect([...dir.files().values()].reduce((sum, file) => sum + file.length, 0)).toBeLessThanOrEqual(2 * replay.journal.stats.liveBytes + 2 * segmentBytes);
    expect(max).toBeGreaterThan(segmentBytes);
  },
);
