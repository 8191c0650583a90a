/** Tests frames as PNG: another library must read them, and both implementations of deflate must agree. */
import { decode } from "fast-png";
import { expect, test, vi } from "vitest";
import { type FrameEncoder, frameEncoder } from "../../../src/datasets/formats/images/frame-png.ts";
import * as builtins from "../../../src/files/builtins/builtins.ts";
import { TestRandom } from "../../support/random.ts";

async function withoutNode(): Promise<FrameEncoder> {
  const spy = vi.spyOn(builtins, "builtin").mockRejectedValue(new Error("no such module"));
  const encoder = await frameEncoder();
  spy.mockRestore();
  return encoder;
}

vi.mock("../../../src/files/builtins/builtins.ts", { spy: true });

test.each([
  ["the host's deflate", frameEncoder],
  ["a page's", withoutNode],
])("pixels encoded with %s are decoded unchanged, image after image", async (_, make) => {
  const encode = await make();
  const random = new TestRandom(5);
  for (let i = 0; i < 60; i++) {
    const [width, height, channels] = [1 + random.below(40), 1 + random.below(40), [1, 3, 4][random.below(3)] as number];
    const noise = random.below(2) * 255 + 1;
    const pixels = Uint8Array.from({ length: width * height * channels }, (_, k) => (k + random.below(noise)) & 255);
    const image = decode(encode(pixels, width, height, channels), { checkCrc: true });
    expect([image.width, image.height, image.channels, image.depth]).toEqual([width, height, channels, 8]);
    expect(Buffer.compare(image.data as Uint8Array, pixels)).toBe(0);
  }
});
