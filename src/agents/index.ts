/** reprise/agents: TF-Agents' observers and replay buffers, as views on the one engine. Exports only. */
export type { Client, ClientLike, LeafSignature, Signature, StepWriter, StepWriterOptions, TableClient } from "./client.ts";
export type { PartOf } from "./fields.ts";
export type { HistoryColumn, HistoryOf } from "./history.ts";
export { LegacyWriter, type LegacyWriterOptions } from "./legacy-writer.ts";
export { LocalClient, type LocalClientOptions, type NamedTable } from "./local-client.ts";
export { type Batched, restart, StepType, type TimeStep, termination, transition, truncation } from "./time-step.ts";
export {
  boundary,
  first,
  fromTransition,
  isBoundary,
  isFirst,
  isLast,
  isMid,
  last,
  mid,
  type PolicyStep,
  singleStep,
  type Trajectory,
  type TrajectorySpec,
  trajectorySpec,
} from "./trajectory.ts";
export { TrajectoryColumn } from "./trajectory-column.ts";
export { type ItemColumns, TrajectoryWriter, type TrajectoryWriterOptions } from "./trajectory-writer.ts";
