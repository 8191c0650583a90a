// Runs checks that are too slow for tests. Each check has a name and throws if it fails. The last line reports how many passed and failed.

/** Runs named checks one after the other. */
export async function checks(named) {
  let passed = 0;
  let failed = 0;
  for (const [name, check] of Object.entries(named)) {
    try {
      await check();
      passed++;
      console.log(`ok ${name}`);
    } catch (error) {
      failed++;
      console.error(`FAILED ${name}\n  ${error.message.replaceAll("\n", "\n  ")}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
