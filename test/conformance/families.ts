/** Runs the families of cases that need only the package, so they run on any host. PFRL cases need files, so files.ts runs them. */
import { runBufferCase } from "./buffers/cases.ts";
import { isObject } from "./case.ts";
import { runClientCase, runDatasetCase } from "./client/cases.ts";
import { runRldsCase } from "./datasets/cases.ts";
import { runBatchedCase } from "./distributed/batched-cases.ts";
import { runVariablesCase } from "./distributed/variables-cases.ts";
import { runDriverCase } from "./drivers/cases.ts";
import { isObserverCase, runObserverCase } from "./observers/cases.ts";
import type { Outcome } from "./outcome.ts";
import { runPyBufferCase } from "./py-buffers/cases.ts";
import { runStructuredCase } from "./structured/cases.ts";
import { runReverbBufferCase } from "./tables/buffer-cases.ts";
import { runTableCase } from "./tables/cases.ts";
import { runTrajectoryCase } from "./trajectories/cases.ts";

/** Returns the outcome of a case, or undefined if the case belongs to another family. */
export async function runInFamily(raw: { readonly [key: string]: unknown }): Promise<Outcome | undefined> {
  if (raw.family === "batched-observer") return await runBatchedCase(raw);
  if (raw.family === "variables") return await runVariablesCase(raw);
  if (raw.family === "drivers") return runDriverCase(raw);
  if (raw.family === "py-buffers") return runPyBufferCase(raw);
  if (raw.family === "trajectories") return runTrajectoryCase(raw);
  if (raw.family === "client-calls") return runClientCase(raw);
  if (raw.family === "datasets") return runDatasetCase(raw);
  if (raw.family === "structured-writer") return runStructuredCase(raw);
  if (isObject(raw.buffers)) return runBufferCase(raw);
  if (raw.class === "ReverbReplayBuffer") return runReverbBufferCase(raw);
  if (isObserverCase(raw)) return runObserverCase(raw);
  if (Array.isArray(raw.episodes) && raw.class === undefined) return runRldsCase(raw);
  if (Array.isArray(raw.tables) && raw.class === undefined) return runTableCase(raw);
  return undefined;
}
