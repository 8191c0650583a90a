/** Tests that openJsonl reads the output of writeJsonl. */
import { expect, it } from "vitest";
import { memorySink, openJsonl, writeJsonl } from "../../../../../src/datasets/rlds/index.ts";
import { all, EVERYTHING, everything, METADATA, SECOND_STEP } from "../../../../support/rlds-data.ts";

it("writeJsonl and openJsonl keep every dtype, text, images, metadata, NaN, -0 and empty episodes", async () => {
  const files = memorySink();
  await writeJsonl(everything([3, 0, 5]), files);
  const bytes = files.get("steps.jsonl") as Uint8Array<ArrayBuffer>;
  const found = await openJsonl(new File([bytes], "steps.jsonl"));
  expect(found.stepSpec).toEqual(EVERYTHING);
  expect(found.metadataSpec).toEqual({ ...METADATA, final_step: { dtype: "string", shape: [] } });
  const episodes = await all(found);
  expect(episodes.map(({ steps }) => steps.length)).toEqual([3, 0, 5]);
  expect(episodes[1]).toMatchObject({ id: 2n ** 55n, inner: { ok: false } });
  expect(episodes[0]?.steps[1]).toMatchObject(SECOND_STEP);
  // The reader determines how each episode ends, so a second round trip changes no bytes.
  const [again, more] = [memorySink(), memorySink()];
  await writeJsonl(found, again);
  const second = await openJsonl(again);
  expect((await all(second)).map((episode) => episode)).toEqual(episodes);
  await writeJsonl(second, more);
  expect([...more]).toEqual([...again]);
});
