import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    exclude: ["kernel/**", "**/node_modules/**"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The sources are loaded once a worker, not once a file.
    isolate: false,
    // Of two processors the default leaves one idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
