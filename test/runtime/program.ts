/**
 * What every runtime runs: the digest from the package's bundle, once with the core inside it and once with the scalar one. Then that of observers and replay buffers. It prints three lines, the content of digest.txt.
 * Where an output is meant to change, `npm run build && node dist/digest.mjs > test/runtime/digest.txt` keeps the new one.
 */
import scalar from "../../dist/core.scalar.wasm";
import { agentsDigest } from "./agents.ts";
import { digest } from "./digest.ts";

console.log(`simd ${await digest()}\nscalar ${await digest(new WebAssembly.Module(scalar))}\nagents ${await agentsDigest()}`);
