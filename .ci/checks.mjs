// Slower checks than tests: each has a name and throws where it fails. The last line counts them.

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
