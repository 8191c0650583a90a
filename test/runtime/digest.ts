/**
 * One number for everything that the engine gives: a fixed script of 10,000 operations, all its outputs hashed. Every runtime, and every build of the core, must print the same.
 * Where an output is meant to change, `npm run build && node dist/digest.mjs > test/runtime/digest.txt` keeps the new one.
 */
import { scenes } from "./scenes.ts";
import { play } from "./script.ts";
import { Sink } from "./sink.ts";

/** @param module another build of the core than the one that comes with the package */
export async function digest(module?: WebAssembly.Module): Promise<string> {
  const sink = new Sink();
  for (const scene of scenes()) await play(scene, sink, module);
  return sink.digest();
}

/** Whether this file is the program itself: of Deno, Bun and newer Nodes, of older Nodes, or a page's own script. */
function isMain(): boolean {
  const host = globalThis as { process?: { argv?: string[] }; document?: { scripts: Iterable<{ src: string }> } };
  const { url, main } = import.meta as ImportMeta & { main?: boolean };
  if (main !== undefined) return main;
  const script = host.process?.argv?.[1];
  if (script !== undefined) return url.startsWith("file:") && decodeURI(url).replaceAll("\\", "/").endsWith(script.replaceAll("\\", "/"));
  return host.document !== undefined && [...host.document.scripts].some(({ src }) => src === url);
}

if (isMain()) console.log(await digest());
