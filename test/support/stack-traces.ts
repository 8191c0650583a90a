/**
 * The runner maps each frame of a stack trace to its source. The package's errors read the names in a trace of sixty frames (`src/base/stack-trace.ts`), in an
 * object that is not an error. Those traces are left unmapped, because tests make many thousands of errors that are never printed.
 */
const PREPARED = Symbol.for("reprise: stack traces of errors alone are mapped");
const scope = globalThis as { [PREPARED]?: true };
const { prepareStackTrace } = Error;

if (prepareStackTrace !== undefined && !scope[PREPARED]) {
  scope[PREPARED] = true;
  Error.prepareStackTrace = (error, sites) => (error instanceof Error ? prepareStackTrace(error, sites) : ["", ...sites].join("\n    at "));
}
