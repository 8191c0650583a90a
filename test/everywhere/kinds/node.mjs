// Runs Node in several versions and ways, Deno, and Bun. All of them have files.
import { runtimes } from "../../../build/runtimes.mjs";
import { NODES, run } from "../workshop.mjs";

const main = (short) => `import { suite } from "./suite.mjs";\nawait suite(console.log, ${JSON.stringify({ folder: "files", short })});\n`;

const THREAD = `import { Worker } from "node:worker_threads";
const thread = new Worker(new URL("./main.mjs", import.meta.url));
thread.on("error", (error) => { throw error; });
`;

const REQUIRE = `const { f32, Replay } = require("reprise");
const { trajectorySpec } = require("reprise/agents");
const replay = new Replay({ spec: { x: f32() }, tables: { t: { maxSize: 4 } }, seed: 1 });
replay.writer({ items: [{ table: "t", length: 1 }] }).append({ x: 7 });
console.log(replay.table("t").sample(1).steps.x.data[0], typeof trajectorySpec);
`;

/** The expected error without fsync, on which acknowledgements depend. */
const NO_JOURNAL = "IO: locking files/journal failed: Node's permission model disables fsync, which durability requires. Run Node without --permission";

const WITH = ", with the optional packages";
const DENO = ["run", "--allow-read=files", "--allow-write=files"];

const lines = (text) => text.trim().split("\n");

export async function rows(workshop) {
  const bin = (name) => runtimes()[name] ?? workshop.tool(name, "bin/node");
  // The version of `node` depends on the machine, because it is the Node that runs this program.
  const versioned = async (name) => ({ version: (await run(".", bin(name), ["--version"])).match(/\d+\.\d+\.\d+/)[0], found: name === "node" });
  const suite = async (where, name, { peers, args = () => [], entry = "main.mjs", ...rest } = {}) => ({
    where,
    ...rest,
    ...(await versioned(name)),
    peers,
    files: true,
    async suite(short) {
      const folder = workshop.project(`${name} ${where}`.replaceAll(/\W+/g, "-").toLowerCase(), {
        peers,
        data: true,
        files: { "main.mjs": main(short), "thread.mjs": THREAD },
      });
      return lines(await run(folder, bin(name), [...args(folder), entry]));
    },
  });
  const required = async (where, name) => ({
    where: `${where}, require`,
    what: "a first program",
    ...(await versioned(name)),
    expected: ["7 function"],
    run: async () => lines(await run(workshop.project("require", { files: { "main.cjs": REQUIRE } }), bin(name), ["main.cjs"])),
  });
  return Promise.all([
    ...["node", ...Object.keys(NODES)].map((name) => suite("Node.js", name)),
    suite(`Node.js${WITH}`, "node", { peers: true, short: true }),
    suite("Node.js, worker_threads", "node", { entry: "thread.mjs", short: true }),
    suite("Node.js, permission model", "node-24", {
      args: (folder) => ["--permission", `--allow-fs-read=${folder}`, `--allow-fs-write=${folder}/files`],
      short: true,
      what: "the short suite, without journals in files",
      instead: { "file: journal": NO_JOURNAL },
    }),
    ...["node", "node-22", "node-24"].map((name) => required("Node.js", name)),
    {
      where: "Node.js before 20.19, require",
      what: "the error says what to do",
      ...(await versioned("node-old")),
      expected: ["reprise is an ES module"],
      async run() {
        const folder = workshop.project("require-old", { files: { "main.cjs": REQUIRE } });
        const said = await run(folder, bin("node-old"), ["main.cjs"], { fails: true, what: "stderr" });
        return [said.match(/reprise is an ES module/)?.[0]];
      },
    },
    suite("Deno", "deno", { args: () => DENO }),
    suite(`Deno${WITH}`, "deno", { peers: true, short: true, args: () => [...DENO, "--allow-read"] }),
    suite("Bun", "bun"),
    suite(`Bun${WITH}`, "bun", { peers: true, short: true }),
    required("Bun", "bun"),
  ]);
}
