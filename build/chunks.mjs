// Decides which sources share a chunk. By default, the bundler creates a chunk for each set of entries that need the same sources, and the main entry would
// load twenty chunks.
import { relative } from "node:path";
import { root } from "./step.mjs";

/** The entry that must load fast, a source that is in all entries with a Replay, and a source that is in all entries with WebAssembly. */
const MAIN = "src/index.ts";
const REPLAY = "src/replay/replay.ts";
const CORE = "src/memory/module.ts";

/** The namespace of the virtual pages from which entries are built. */
const NAMESPACE = "entry";

/**
 * Returns the companions: sources that each entry loads in addition to the sources it needs. With companions, the sources of the main entry are in three
 * chunks: the sources that entries without WebAssembly also need, the sources that storage needs, and the rest.
 * @param metafile the metafile of a build without companions
 * @returns sources by the path of an entry, including entries that are loaded later
 */
export function companions({ inputs, outputs }) {
  const all = Object.values(outputs);
  const kept = new Set(all.flatMap((output) => Object.keys(output.inputs)));
  const loads = new Map();
  for (const { entryPoint } of all) if (entryPoint !== undefined) loads.set(entryPoint, sourcesOf(inputs, kept, entryPoint));
  const main = [...loads.get(MAIN)];
  // Modules that the main entry loads later find all of these sources already loaded.
  const later = main.flatMap((source) => inputs[source].imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => path));
  const whole = [...loads.keys()].filter((entry) => loads.get(entry).has(REPLAY) || later.includes(entry));
  const light = [...loads.keys()].filter((entry) => !loads.get(entry).has(CORE) && !whole.includes(entry));
  const neededBy = (entries) => main.filter((source) => entries.some((entry) => loads.get(entry).has(source)));
  const shared = neededBy(light);
  const storing = neededBy([...loads.keys()].filter((entry) => !whole.includes(entry)));
  const companionsOf = (entry) => (whole.includes(entry) ? main : light.includes(entry) ? shared : storing);
  return new Map([...loads.keys()].map((entry) => [entry, companionsOf(entry)]));
}

/** Returns a source and all sources that it imports, directly or indirectly, except those that the build removed. */
function sourcesOf(inputs, kept, source, found = new Set()) {
  found.add(source);
  for (const { path, kind } of inputs[source].imports)
    if (kind === "import-statement" && kept.has(path) && !found.has(path)) sourcesOf(inputs, kept, path, found);
  return found;
}

/** Makes entries import their companions after their own sources, so that the execution order stays the same. */
export function together(companions) {
  return {
    name: "chunks of what is loaded together",
    setup(build) {
      build.onResolve({ filter: /./ }, async ({ path, pluginData, ...from }) => {
        if (pluginData === NAMESPACE || !["entry-point", "dynamic-import"].includes(from.kind)) return undefined;
        const found = await build.resolve(path, { ...from, pluginData: NAMESPACE });
        const entry = relative(root, found.path).replaceAll("\\", "/");
        return companions.has(entry) ? { path: entry, namespace: NAMESPACE } : found;
      });
      build.onLoad({ filter: /./, namespace: NAMESPACE }, ({ path }) => {
        const lines = [`export * from "./${path}";`, ...companions.get(path).map((source) => `import "./${source}";`)];
        return { contents: lines.join("\n"), resolveDir: root };
      });
    },
  };
}

/** Returns the paths of a build's sources, without the virtual pages of entries. */
export function sourcesIn({ inputs }) {
  return Object.keys(inputs).filter((source) => !source.startsWith(`${NAMESPACE}:`));
}
