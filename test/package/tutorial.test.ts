/** Checks the tutorial in docs/start: its programs must contain every quoted piece, and the last program must learn to balance a pole. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const programs = ["docs/recipes/dqn.js", "docs/start/cartpole.js"].map(read);
const quotes = [...read("docs/start/dqn.md").matchAll(/^```javascript\n([\s\S]*?)^```$/gm)].map(([, quote]) => quote as string);

test("every quote of the tutorial is in one of its programs", () => {
  expect(quotes.length).toBeGreaterThan(7);
  expect(quotes.filter((quote) => !programs.some((program) => program.includes(quote)))).toEqual([]);
});

/** The parts of TensorFlow.js that the program needs. The full package adds layers, data and the backends of pages. */
const TFJS = `
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-backend-cpu";
export * from "@tensorflow/tfjs-core";
`;

test.runIf(whole)(
  "the agent of the tutorial learns",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "reprise-tutorial-"));
    try {
      symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "junction");
      writeFileSync(join(folder, "tfjs.mjs"), TFJS);
      const outfile = join(root, "dist", `tutorial-${process.pid}.mjs`);
      await build({
        entryPoints: [join(root, "docs/start/cartpole.js")],
        ...{ outfile, bundle: true, format: "esm", platform: "node", mainFields: ["module", "main"], external: ["reprise"] },
        alias: { "@tensorflow/tfjs": join(folder, "tfjs.mjs") },
        banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
      });
      const { status, stdout, stderr } = spawnSync(process.execPath, [outfile, "4000"], { cwd: root, encoding: "utf8" });
      rmSync(outfile);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      const means = [...stdout.matchAll(/lasted (\d+) steps/g)].map(([, mean]) => Number(mean));
      expect(means).toHaveLength(2);
      // With a random policy, the pole falls after 22 steps on average.
      expect(means[1]).toBeGreaterThan(60);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  300_000,
);
