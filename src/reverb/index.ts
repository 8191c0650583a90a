/** reprise/reverb: tables on a server of Reverb's, for Node, Deno and Bun. Exports only. */
import "../base/host.ts";

export { ReverbClient, type ReverbClientOptions } from "./client.ts";
export type { LegacyStreamWriter } from "./legacy-stream-writer.ts";
export type { StreamSteps } from "./stream-steps.ts";
export type { StreamWriter } from "./stream-writer.ts";
export type { StructuredStreamWriter } from "./structured-stream-writer.ts";
