/** Tests rewards with several numbers in the worlds of random-specs.test.ts. Each component of the reward has its own returns. */
import { expect, test } from "vitest";
import type { Leaf, Spec } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { scaled } from "../support/size.ts";
import { Twin } from "./twin.ts";
import { type World, worldOf } from "./world.ts";

const SPECS = scaled(200, 6);
const CALLS = 40;

/** Returns the world with another shape of the reward. Returns undefined if no view has transitions, or if the reward is text, packed or missing. */
function vectorsOf(random: TestRandom, world: World): World | undefined {
  const { spec, roles, views } = world;
  const name = roles?.reward ?? "reward";
  const leaf = (spec as { readonly [name: string]: Spec })[name] as Leaf | undefined;
  if (leaf?.dtype === undefined || (leaf.dtype as string) === "string" || !views.some(({ transitions }) => transitions !== undefined)) return undefined;
  // A packed frame must have at least 256 bytes, which most of the shapes below do not have.
  if ("packed" in leaf) return undefined;
  // The last shape is wide, so the core stores the reward in a separate column.
  return { ...world, spec: { ...(spec as object), [name]: { ...leaf, shape: random.pick([[2], [3, 2], [1, 2], [300]]) } } };
}

test("embed.wasm sums vector rewards as the public API does, and continues from snapshots", () => {
  let [made, batches] = [0, 0];
  for (let seed = 1; made < SPECS; seed++) {
    const random = new TestRandom(seed);
    const world = vectorsOf(random, worldOf(random));
    if (world === undefined) continue;
    const twin = new Twin(random, world, "embed");
    try {
      if (!twin.begin()) continue;
      made++;
      for (let i = 0; i < CALLS; i++) {
        if (i === 25) twin.exchange();
        if (i < 6) twin.append();
        else twin.play();
      }
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
    batches += twin.batches;
  }
  expect(batches).toBeGreaterThan(made);
});
