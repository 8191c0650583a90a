/**
 * Tests sending weights to an actor with the program in docs/guides/workers.md. The test uses the real TensorFlow.js; for ONNX it uses the bytes of a file,
 * because the ONNX runtime is not a dependency.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { i32 } from "../../../src/index.ts";
import { CHANNELS, pairOver, until } from "./support.ts";

const spec = { n: i32() };
const options = { spec, tables: { t: { maxSize: 100 } } };
const page = readFileSync(new URL("../../../docs/guides/workers.md", import.meta.url), "utf8");

/** Returns the part of the program that begins with the comment `heading`, as a function of the names that it uses. */
function part(heading: string, after: string, names: readonly string[]): (...values: unknown[]) => Promise<unknown> {
  const from = page.indexOf(heading, page.indexOf(after));
  const ends = ["\n// ", "\n\n", "\n```"].map((end) => page.indexOf(end, from)).filter((at) => at > 0);
  expect(from).toBeGreaterThan(0);
  const AsyncFunction = (async () => {}).constructor as new (...args: string[]) => (...values: unknown[]) => Promise<unknown>;
  return new AsyncFunction(...names, page.slice(from, Math.min(...ends)));
}

describe.each(CHANNELS)("weights over a %s", (channel) => {
  test("of TensorFlow.js equal those of the learner's model", async () => {
    const { tf } = await import("../../support/tfjs.mjs");
    const { replay, writer } = await pairOver(channel)(options);
    /** Returns a model with layers that only supports getWeights and setWeights. */
    const modelOf = (value: (i: number) => number) => {
      let weights = [[4, 3], [3], [], [3, 2, 2]].map((shape) => {
        const size = shape.reduce((product, n) => product * n, 1);
        return tf.tensor(
          Array.from({ length: size }, (_, i) => value(i)),
          shape,
        );
      });
      return {
        getWeights: () => weights,
        setWeights: (next: typeof weights) => {
          weights = next;
        },
      };
    };
    const [learner, actor] = [modelOf((i) => Math.sin(i + 1)), modelOf(() => 0)];
    await part("// The actor, whose model", "with TensorFlow.js", ["writer", "model", "tf"])(writer, actor, tf);
    await part("// The learner, with TensorFlow.js", "", ["replay", "model", "tf"])(replay, learner, tf);
    await until(() => (actor.getWeights()[1] as { dataSync(): Float32Array }).dataSync()[0] !== 0);
    const values = (model: typeof learner) => model.getWeights().map((weight) => ({ shape: weight.shape, data: [...weight.dataSync()] }));
    expect(values(actor)).toEqual(values(learner));
    expect(values(actor)[0]?.data[3]).toBeCloseTo(Math.sin(4), 6);
    await writer.close();
  });

  test("of ONNX equal the bytes of the file, in a separate buffer", async () => {
    const { replay, writer } = await pairOver(channel)(options);
    const file = Uint8Array.from({ length: 70_001 }, (_, i) => i * 7);
    const created: Uint8Array[] = [];
    const ort = { InferenceSession: { create: async (bytes: Uint8Array) => created.push(bytes) } };
    await part("// The actor.", "with ONNX", ["writer", "ort", "session"])(writer, ort, undefined);
    const readFile = async (name: string) => Buffer.from(name === "policy.onnx" ? file : []);
    await part("// The learner, with ONNX", "", ["replay", "readFile"])(replay, readFile);
    await until(() => created.length > 0);
    const [bytes] = created as [Uint8Array];
    expect(Buffer.compare(bytes, file)).toBe(0);
    expect([Object.getPrototypeOf(bytes) === Uint8Array.prototype, bytes.byteOffset, bytes.buffer.byteLength]).toEqual([true, 0, file.length]);
    await writer.close();
  });
});
