// Node, of several versions and in several ways; Deno and Bun.
import { NODES, run } from "../workshop.mjs";

const MAIN = 'import { suite } from "./suite.mjs";\nawait suite(console.log);\n';

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

const lines = (text) => text.trim().split("\n");

export async function rows(workshop) {
  const bin = (name) => (name === "node" ? process.execPath : workshop.tool(name, "bin/node"));
  const version = async (name) => (await run(".", bin(name), ["--version"])).trim().slice(1);
  const suite = async (where, name, { peers, args = () => [], main = "main.mjs", id = where } = {}) => ({
    where,
    version: await version(name),
    peers,
    async suite() {
      const folder = workshop.project(id, { peers, files: { "main.mjs": MAIN, "thread.mjs": THREAD } });
      return lines(await run(folder, bin(name), [...args(folder), main]));
    },
  });
  const required = (name, command, ...args) => ({
    where: `${name}, require`,
    what: "a first program",
    expected: ["7 function"],
    run: async () => lines(await run(workshop.project("require", { files: { "main.cjs": REQUIRE } }), command, [...args, "main.cjs"])),
  });
  return [
    ...(await Promise.all(["node", ...Object.keys(NODES)].map((name) => suite("Node.js", name, { id: name })))),
    await suite("Node.js, with the optional packages", "node", { peers: true }),
    await suite("Node.js, worker_threads", "node", { main: "thread.mjs" }),
    await suite("Node.js, permission model", "node-24", { args: (folder) => ["--permission", `--allow-fs-read=${folder}`] }),
    { ...required("Node.js", process.execPath), version: await version("node") },
    { ...required("Node.js", bin("node-22")), version: await version("node-22") },
    { ...required("Node.js", bin("node-24")), version: await version("node-24") },
    {
      where: "Node.js before 20.19, require",
      what: "the error says what to do",
      version: await version("node-old"),
      expected: ["reprise is an ES module"],
      async run() {
        const said = await run(workshop.project("require-old", { files: { "main.cjs": REQUIRE } }), bin("node-old"), ["main.cjs"], { fails: true });
        return [said.match(/reprise is an ES module/)?.[0]];
      },
    },
    {
      where: "Deno",
      version: workshop.version("deno"),
      suite: async () => lines(await run(workshop.project("deno", { files: { "main.mjs": MAIN } }), workshop.tool(".bin/deno"), ["run", "main.mjs"])),
    },
    {
      where: "Deno, with the optional packages",
      version: workshop.version("deno"),
      peers: true,
      suite: async () =>
        lines(
          await run(workshop.project("deno", { peers: true, files: { "main.mjs": MAIN } }), workshop.tool(".bin/deno"), ["run", "--allow-read", "main.mjs"]),
        ),
    },
    {
      where: "Bun",
      version: workshop.version("bun"),
      suite: async () => lines(await run(workshop.project("bun", { files: { "main.mjs": MAIN } }), workshop.tool(".bin/bun"), ["main.mjs"])),
    },
    { ...required("Bun", workshop.tool(".bin/bun")), version: workshop.version("bun") },
  ];
}
