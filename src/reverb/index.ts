/** reprise/reverb: tables on a server of Reverb's, for Node, Deno and Bun. Exports only. */
import "../host.ts";

export { ReverbClient, type ReverbClientOptions } from "./client.ts";
export type { StreamWriter } from "./stream-writer.ts";
