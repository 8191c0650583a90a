// The layers of the project, lowest first: a module imports only from layers below its own, never from its own. A module's place is the
// lowest one that its imports leave it; what is new is entered here, and where it does not fit, one of the two is wrong.

export const LAYERS = {
  assembly: [
    // Numbers, bytes and the memory map: they know nothing but themselves.
    ["bytes", "journal/live", "layout", "leaf", "power", "random", "rate-limiter", "ring", "trap"],
    // Single structures: the error cell, a row's head, a draw, the four that select.
    ["draw", "error", "image/codec", "marks", "row", "sections/layout", "selectors/heap", "selectors/order", "selectors/sum-tree", "selectors/uniform"],
    // What structures are made with: memory, the queue of freed rows, the one switch over selectors.
    ["arena", "free-rows", "sections/fold", "selectors/selector"],
    // What grows: rows, and the map of episodes.
    ["episodes", "pool"],
    // Over rows: runs of them, streams that make them, draws that read them, their names in an image.
    ["gather", "image/names", "n-step", "run", "stream"],
    // An item's word says what kind of run it is.
    // Windows of several streams know nothing of items.
    ["sections/section", "slots", "image/pool", "image/stream", "pfrl/rows", "windows/windows"],
    // A table knows slots, and rows only as something to hold.
    ["journal/rows", "table", "windows/draw", "windows/grow"],
    // What is done with a table; it knows none of this.
    ["image/check", "image/table", "inspect", "journal/streams", "keys", "pfrl/errors", "pfrl/items", "sample", "turn", "window"],
    // Streams and tables, which do not know each other, come together.
    ["journal/items", "pfrl/picks", "writer"],
    ["block", "pfrl/envs", "pfrl/memory"],
    ["pfrl/record"],
    // The ABI pages: exports only.
    ["image/index", "index", "journal/index", "kernels", "pfrl/index", "sections/index", "windows/index"],
  ],
  src: [
    // Words and numbers that everyone shares.
    ["abi", "dtype", "error"],
    // The one file that compiles WebAssembly; options and specs, each alone.
    ["core", "rate-limiter", "selector", "spec", "wait"],
    // What a spec comes to.
    ["batch", "layout", "numbers"],
    // Paths to leaves, and values into them.
    ["columns", "fill"],
    ["n-step", "staged"],
    // What all of one Replay share.
    ["engine"],
    // In by columns, out by batches.
    ["block", "filler"],
    ["reader"],
    ["dataset"],
    ["table"],
    ["plan", "writer"],
    ["replay"],
    // The main entry: exports only.
    ["index"],
    // Subpaths build on the main entry.
    ["snapshot/image"],
    ["snapshot/write"],
    ["snapshot/read"],
    ["snapshot/index"],
    // Files: places for them, sections in them, and values as bytes.
    [
      ...["storage/builtins", "storage/checksum", "storage/directory", "storage/durability", "storage/memory-files", "storage/sections"],
      ...["storage/segment-head", "storage/tags"],
    ],
    ["storage/attempt", "storage/node-holder"],
    ["storage/later-group", "storage/memory-directory", "storage/segment-reader", "storage/segment-writer", "storage/tagged", "storage/untagged"],
    ["storage/node-lock", "storage/pool-file"],
    ["storage/node-directory", "storage/opfs-directory"],
    // A segment of a log, read; then all of them; then written.
    ["storage/walk"],
    ["storage/recover"],
    ["storage/log"],
    ["storage/index"],
    // Pieces that know nothing of each other.
    [
      ...["agents/callable", "agents/client", "agents/elements", "agents/fields", "agents/indices", "agents/items", "agents/pending"],
      ...["agents/replay-buffer", "agents/time-step", "agents/trajectory-column", "agents/windows-core"],
    ],
    // Steps in their forms, histories, windows of streams.
    [
      ...["agents/batch-form", "agents/deal", "agents/form", "agents/history", "agents/open-step", "agents/pass", "agents/settle"],
      ...["agents/signature", "agents/trajectory", "agents/windows"],
    ],
    ["agents/cache", "agents/drive", "agents/episode-flags", "agents/episodes", "agents/inserter", "agents/legacy-writer", "agents/trajectory-writer"],
    ["agents/episode-pass", "agents/local-client", "agents/uniform-replay-buffer"],
    ["agents/episodic-replay-buffer", "agents/reverb-replay-buffer", "agents/trajectory-observer"],
    ["agents/episode-observer", "agents/stateful-episodic-replay-buffer"],
    ["agents/index"],
    // PFRL's transitions: values and leaves, then rows of them.
    ["pfrl/last-sample", "pfrl/leaf", "pfrl/listed", "pfrl/object-value", "pfrl/pfrl-core", "pfrl/single-file", "pfrl/transition", "pfrl/work"],
    ["pfrl/step-spec", "pfrl/weighing"],
    ["pfrl/arguments", "pfrl/stack", "pfrl/transition-batch"],
    ["pfrl/part"],
    ["pfrl/form", "pfrl/objects"],
    ["pfrl/steps"],
    // What is kept of them, and how it is picked, read and written.
    ["pfrl/items", "pfrl/memory", "pfrl/picks", "pfrl/powers", "pfrl/records", "pfrl/streams"],
    ["pfrl/batches", "pfrl/history", "pfrl/lists", "pfrl/picker"],
    ["pfrl/batch-experiences", "pfrl/saving", "pfrl/transitions"],
    ["pfrl/episodes", "pfrl/files", "pfrl/journal", "pfrl/priorities"],
    ["pfrl/behind", "pfrl/episodes-history", "pfrl/transitions-history"],
    ["pfrl/replay-buffer"],
    ["pfrl/episode-samples", "pfrl/persistence", "pfrl/prioritized-replay-buffer"],
    [...["pfrl/episodic-replay-buffer", "pfrl/persistent-episodic-replay-buffer", "pfrl/persistent-replay-buffer"], "pfrl/prioritized-episodic-replay-buffer"],
    ["pfrl/index"],
    // RLDS: what a dataset is, then its steps, then what is made of them.
    ["rlds/dataset", "rlds/rlds-error"],
    ["rlds/each", "rlds/import-report", "rlds/leaves"],
    ["rlds/fit", "rlds/pass", "rlds/step-columns"],
    ["rlds/collector", "rlds/copied", "rlds/derived", "rlds/elements", "rlds/step-spec"],
    ["rlds/pieces", "rlds/step-fields"],
    // Datasets on their way in, judged.
    ["rlds/facts"],
    ["rlds/judge", "rlds/mend"],
    ["rlds/reading", "rlds/segment-steps"],
    ["rlds/whole-episode"],
    ["rlds/import"],
    // Trajectories of steps.
    ["rlds/policy-info"],
    ["rlds/trajectory-spec"],
    ["rlds/pairing", "rlds/trajectory-windows"],
    ["rlds/convert"],
    ["rlds/push"],
    // Datasets made of datasets.
    ["rlds/histogram", "rlds/mapped-spec", "rlds/moments", "rlds/stacked"],
    ["rlds/batch-steps", "rlds/episode-ends", "rlds/filter-episodes", "rlds/map-steps", "rlds/n-step", "rlds/shift-keys", "rlds/statistics"],
    ["rlds/index"],
  ],
};

/** Folders of src that may name a runtime and import packages. */
export const OUTER = ["src/adapters/", "src/cli/", "src/formats/", "src/reverb/", "src/runtime/", "src/storage/"];

/** Of these the pages that run anywhere, and ask for the runtime only when they are called: other subpaths may build on them. */
export const ANYWHERE = ["src/formats/index.ts", "src/storage/index.ts"];

/** Modules made by the build, by the only ones that may import them. */
export const GENERATED = {
  "dist/core-bytes.js": "src/core.ts",
  "dist/image-bytes.js": "src/snapshot/image.ts",
  "dist/pfrl-bytes.js": "src/pfrl/pfrl-core.ts",
  "dist/windows-bytes.js": "src/agents/windows-core.ts",
  "dist/tracking-bytes.js": "src/storage/tracking.ts",
  "dist/journal-bytes.js": "src/storage/tracking.ts",
  "dist/sections-bytes.js": "src/storage/checksum.ts",
};
