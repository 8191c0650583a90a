/**
 * What every runtime runs: the digests from the package's bundle, once with the core inside it and once with the scalar one, and those of observers and replay buffers and of PFRL's buffers. It prints six lines, the content of
 * digest.txt. Where an output or the format of snapshots is meant to change, `npm run build && node dist/digest.mjs > test/runtime/digest.txt` keeps the new lines.
 */
import scalar from "../../dist/core.scalar.wasm";
import { agentsDigest } from "./agents.ts";
import { digest } from "./digest.ts";
import { pfrlDigest } from "./pfrl.ts";

const builds = { simd: await digest(), scalar: await digest(new WebAssembly.Module(scalar)) };
for (const [name, { outputs }] of Object.entries(builds)) console.log(`${name} ${outputs}`);
console.log(`agents ${await agentsDigest()}`);
console.log(`pfrl ${await pfrlDigest()}`);
for (const [name, { snapshots }] of Object.entries(builds)) console.log(`snapshots ${name} ${snapshots}`);
