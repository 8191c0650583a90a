/** Runs a fixed script of 11,500 operations and hashes all outputs. Every runtime and every build of the core has the same digest. */
import { scenes } from "./scenes.ts";
import { play } from "./script.ts";
import { Sink } from "./sink.ts";
import { playTransitions } from "./transitions.ts";

export interface Digests {
  /** The digest of all results except the bytes of snapshots, including results after a restore. It changes only if an output changes on purpose. */
  readonly outputs: string;
  /** The digest of the bytes of snapshots, which changes with their format. */
  readonly snapshots: string;
}

/** @param module the build of the core to use instead of the build in the package */
export async function digest(module?: WebAssembly.Module): Promise<Digests> {
  const sinks = { outputs: new Sink(), snapshots: new Sink() };
  for (const scene of scenes()) await play(scene, sinks, module);
  await playTransitions(sinks, module);
  return { outputs: await sinks.outputs.digest(), snapshots: await sinks.snapshots.digest() };
}
