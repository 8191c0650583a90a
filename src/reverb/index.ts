/** Exports reprise/reverb: tables on a Reverb server, for Node, Deno and Bun. */
import "../base/host.ts";

export {
  type GatewayOptions,
  type LegacyStreamWriter,
  ReverbClient,
  type ReverbClientOptions,
  type StreamWriter,
  type StructuredStreamWriter,
} from "./client.ts";
export type { StreamSteps } from "./stream-steps.ts";
