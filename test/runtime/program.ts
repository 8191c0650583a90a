/**
 * Prints the content of digest.txt, in every runtime: the digests of the bundle with the embedded core and with the scalar core, and the digests of observers,
 * replay buffers, PFRL buffers, sequences, mixtures, draws by age, and goals. If an output or the format of snapshots changes on purpose,
 * `npm run build && node dist/digest.mjs > test/runtime/digest.txt` stores the new lines.
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
