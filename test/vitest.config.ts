import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Matches the files that take minutes in whole runs. If such a file started last, a single worker would be busy while the other workers are idle. */
const LONG = /page\/memory|storage\/(moments|open-damage)|rlds\/bounded-memory|package\/consumer|conformance\.test|hostile\/engine/;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

const IS_QUICK = process.env.REPRISE_TESTS === "quick";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["**/*.test.ts"],
    setupFiles: ["support/equality.ts", "support/stack-traces.ts", "support/address-space.ts"],
    exclude: ["kernel/**", "**/node_modules/**"],
    // The timeout only stops tests that hang: whole suites take long on a busy machine.
    testTimeout: IS_QUICK ? 60_000 : 300_000,
    hookTimeout: IS_QUICK ? 60_000 : 300_000,
    // Caches transformed modules for the next run, by the hash of their source.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongFirst },
    // The sources are loaded once per worker, not once per file.
    isolate: false,
    // Most test code runs only a few times, so V8 compiles it on the first call instead of interpreting it. Garbage collection on extra threads would slow down
    // the other worker.
    execArgv: ["--always-sparkplug", "--single-threaded-gc", "--max-semi-space-size=32", "--interrupt-budget=600000"],
    // Hides the warnings of a Replay without a logger. Tests of warnings pass one.
    onConsoleLog: (text, type) => type === "stdout" || !/^reprise: | were not completely written, and are cut off/m.test(text),
    // On machines with few processors, there are more workers than processors, because some tests wait for child processes.
    maxWorkers: Math.max(3, availableParallelism() - 1),
  },
});
