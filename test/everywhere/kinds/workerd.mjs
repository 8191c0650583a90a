// Runs workerd: a worker with every subpath in one bundle.
import { join } from "node:path";
import { bundleWorker, serveWorker } from "../../support/workerd.mjs";
import { run } from "../workshop.mjs";

const source = (short) => `import embed from "reprise/embed.wasm";
import { answered } from "./suite.mjs";
export default { fetch: () => answered({ embed, short: ${short} }) };
`;

export async function rows(workshop) {
  const program = workshop.tool(".bin/workerd");
  const version = (await run(".", program, ["--version"])).trim().replace("workerd ", "");
  const of = (where, flags, short) => ({
    where,
    version,
    short,
    async suite() {
      const folder = workshop.project("workerd", { files: { "main.js": source(short) } });
      const served = join(folder, "served");
      const worker = await serveWorker(program, served, { modules: await bundleWorker(join(folder, "main.js"), served), flags });
      try {
        const lines = await (await fetch(worker.address)).json();
        const failed = lines.find((line) => line.startsWith("failed: "));
        if (failed !== undefined) throw new RangeError(failed);
        return lines;
      } finally {
        await worker.end();
      }
    },
  });
  return [of("workerd", [], false), of("workerd with nodejs_compat", ["nodejs_compat"], true)];
}
