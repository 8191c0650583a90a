/** Starts workers of the page. Each file `page/NAME/worker.ts`, or one whose name ends in `-worker.ts`, is built to the same path. */

/** The page allows scripts only under this policy name. */
interface Policy {
  createScriptURL(address: string): string;
}
interface Policies {
  createPolicy(name: string, rules: Policy): Policy;
}

const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes;
const policy = policies?.createPolicy("reprise", { createScriptURL: (address) => address });

/** Starts a worker that ends when the signal aborts. @param path the path below the page's folder, such as "live/worker.js" */
export function startWorker(path: string, signal: AbortSignal): Worker {
  const address = new URL(path, new URL(".", location.href)).href;
  const worker = new Worker(policy?.createScriptURL(address) ?? address, { type: "module" });
  signal.addEventListener("abort", () => worker.terminate());
  return worker;
}
