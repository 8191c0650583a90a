// Writes files of operations that any host of embed.wasm can play. The operations are recorded while TypeScript and embed.wasm perform them side by side
// (test/embed/record.ts).
import { COMMON } from "./bundle.mjs";
import { execute, files, step } from "./step.mjs";

export async function operations() {
  const sources = [
    ...files("src"),
    ...files("test/embed", ".ts"),
    "test/embed/player.mjs",
    "test/support/random.ts",
    "dist/embed.wasm",
    "build/operations.mjs",
  ];
  await step("operations", "dist/.stamp-operations", sources, async () => {
    const { build } = await import("esbuild");
    const outfile = "dist/embed/record.mjs";
    await build({ ...COMMON, entryPoints: ["test/embed/record.ts"], outfile, platform: "node" });
    execute(process.execPath, [outfile]);
  });
}
