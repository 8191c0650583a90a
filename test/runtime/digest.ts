/** One number for everything that the engine gives: a fixed script of 10,000 operations, all its outputs hashed. It is the same in every runtime and from every build of the core. */
import { scenes } from "./scenes.ts";
import { play } from "./script.ts";
import { Sink } from "./sink.ts";

/** @param module another build of the core than the one that comes with the package */
export async function digest(module?: WebAssembly.Module): Promise<string> {
  const sink = new Sink();
  for (const scene of scenes()) await play(scene, sink, module);
  return sink.digest();
}
