/** A fixed script of 11,500 operations, all its outputs hashed. Every runtime and every build of the core gives the same. */
import { scenes } from "./scenes.ts";
import { play } from "./script.ts";
import { Sink } from "./sink.ts";
import { playTransitions } from "./transitions.ts";

export interface Digests {
  /** Of everything that the engine gives, also after a snapshot was restored, but for the bytes of snapshots. It changes only where an output is meant to change. */
  readonly outputs: string;
  /** Of the bytes of snapshots. It changes with their format. */
  readonly snapshots: string;
}

/** @param module another build of the core than the one that comes with the package */
export async function digest(module?: WebAssembly.Module): Promise<Digests> {
  const sinks = { outputs: new Sink(), snapshots: new Sink() };
  for (const scene of scenes()) await play(scene, sinks, module);
  await playTransitions(sinks, module);
  return { outputs: await sinks.outputs.digest(), snapshots: await sinks.snapshots.digest() };
}
