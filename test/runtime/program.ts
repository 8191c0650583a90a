/**
 * What every runtime runs: the digests from the package's bundle, once with the core inside it and once with the scalar one, and those of observers and replay buffers, of PFRL's
 * buffers, of sequences, of mixtures, of draws by age and of goals. It prints the content of
 * digest.txt. Where an output or the format of snapshots is meant to change, `npm run build && node dist/digest.mjs > test/runtime/digest.txt` keeps the new lines.
 */
import scalar from "../../dist/core.scalar.wasm";
import { agentsDigest } from "./agents.ts";
import { agesDigest } from "./ages.ts";
import { digest } from "./digest.ts";
import { goalsDigest } from "./goals.ts";
import { mixturesDigest } from "./mixtures.ts";
import { pfrlDigest } from "./pfrl.ts";
import { sequencesDigest } from "./sequences.ts";

const builds = { simd: await digest(), scalar: await digest(new WebAssembly.Module(scalar)) };
for (const [name, { outputs }] of Object.entries(builds)) console.log(`${name} ${outputs}`);
console.log(`agents ${await agentsDigest()}`);
console.log(`pfrl ${await pfrlDigest()}`);
console.log(`goals ${await goalsDigest()}`);
console.log(`goals scalar ${await goalsDigest(new WebAssembly.Module(scalar))}`);
console.log(`sequences ${await sequencesDigest()}`);
console.log(`mixtures ${await mixturesDigest()}`);
console.log(`ages ${await agesDigest()}`);
for (const [name, { snapshots }] of Object.entries(builds)) console.log(`snapshots ${name} ${snapshots}`);
