// The layers of the project, lowest first. A file imports only from its own folder and from the layers below it. Files of one folder may import each other, but never in a
// circle. "./" are the files next to the folders.

export const LAYERS = {
  assembly: [
    ["memory/"],
    // The codec of packed frames.
    ["packed/"],
    // What steps are kept in, and what chooses between items: they do not know each other.
    ["rows/", "selectors/"],
    ["tables/"],
    ["draw/"],
    // Streams and tables come together.
    ["writer/"],
    // State as bytes.
    ["persistence/"],
    // A Replay for hosts without JavaScript.
    ["embed/"],
    // The ABI pages: exports only.
    ["./"],
  ],
  src: [
    // Errors, limits, warnings: what needs nothing.
    ["base/"],
    // What a step is, and where its bytes are; places for files.
    ["schema/", "files/"],
    // The only way to WebAssembly; batches for other libraries.
    ["memory/", "adapters/"],
    // What a draw gives; what outlives a process.
    ["batch/", "storage/"],
    // The public nouns: tables and writers; what datasets are made of.
    ["tables/", "datasets/model/"],
    // Writers across a port: both of its ends.
    ["remote/"],
    ["replay/"],
    // PFRL's classes, the element that looks at a Replay, readers and writers of files.
    ["pfrl/", "inspector/", "datasets/formats/"],
    // TF-Agents' and Reverb's classes, of which some write files.
    ["tf-agents/"],
    // Episodes into trajectories; tables on a real server of Reverb's; the recorder; the main entry: exports only.
    ["datasets/rlds/", "reverb/", "recorder/", "./"],
    ["cli/"],
  ],
};

/** Folders of src that may name a runtime and import packages. */
export const OUTER = ["src/adapters/", "src/cli/", "src/datasets/formats/", "src/files/", "src/inspector/", "src/reverb/"];

/** The modules of OUTER that run anywhere, because they need the runtime only when they are called. Others may import them. */
export const ANYWHERE = [
  "src/datasets/formats/index.ts",
  "src/datasets/formats/columns/",
  "src/datasets/formats/film-references.ts",
  "src/datasets/formats/images/frame-png.ts",
  "src/datasets/formats/reader.ts",
  "src/datasets/formats/recording/",
  "src/datasets/formats/selection/",
  "src/datasets/formats/sinks/writer.ts",
  "src/datasets/formats/tfrecord/",
  "src/files/",
];

/** Modules made by the build, by the only ones that may import them. */
export const GENERATED = { "dist/core-bytes.js": "src/memory/module.ts" };

/** Who may call the core's exports and look at its memory. */
export const RAW = ["src/memory/", "src/batch/"];
