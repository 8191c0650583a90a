import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    setupFiles: ["support/batches.ts"],
    exclude: ["kernel/**", "**/node_modules/**"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The sources are loaded once a worker, not once a file.
    isolate: false,
    // What a Replay without a logger says; tests of warnings give one.
    onConsoleLog: (text, type) => type === "stdout" || !/^reprise: | are a torn tail, and are cut off/m.test(text),
    // Of two processors the default leaves one idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
