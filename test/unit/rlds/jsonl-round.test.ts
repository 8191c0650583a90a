/** What writeJsonl wrote, openJsonl reads. */
import { expect, it } from "vitest";
import { memorySink, openJsonl, writeJsonl } from "../../../src/rlds/index.ts";
import { all, EVERYTHING, everything, METADATA } from "../../support/rlds-data.ts";

it("gives back every dtype, text, images, metadata, NaN and -0, and episodes without steps", async () => {
  const files = memorySink();
  await writeJsonl(everything([3, 0, 5]), files);
  const bytes = files.get("steps.jsonl") as Uint8Array<ArrayBuffer>;
  const found = await openJsonl(new File([bytes], "steps.jsonl"));
  expect(found.stepSpec).toEqual(EVERYTHING);
  expect(found.metadataSpec).toEqual(METADATA);
  const episodes = await all(found);
  expect(episodes.map(({ steps }) => steps.length)).toEqual([3, 0, 5]);
  expect(episodes[1]).toMatchObject({ id: 2n ** 55n, inner: { ok: false } });
  expect(episodes[0]?.steps[1]).toMatchObject({
    observation: { wide: Float64Array.of(0.1, 1, 1e300, Number.NaN), none: new Float32Array(0), deep: { a: -1, b: Uint16Array.of(1, 2, 65535) } },
    ...{
      action: -2n,
      reward: -0,
      text: "h\u00e9llo \u65e5\u672c \u{1f600} 1",
      words: ["", "\u00df"],
      u64: 2n ** 63n - 1n,
      u32: 4294967295,
      i16: -32768,
      flags: Uint8Array.of(1, 0),
    },
  });
  const again = memorySink();
  await writeJsonl(found, again);
  expect([...again]).toEqual([...files]);
});
