// The layers of the project, lowest first: a module imports only from layers below its own. A name is a file, or with a slash at its end a folder,
// whose files may import each other (never in a circle); a file that is named apart from its folder has the place of its own.

export const LAYERS = {
  assembly: [
    ["memory/"],
    // What steps are kept in, and what chooses between items: they do not know each other.
    ["rows/", "selectors/"],
    ["tables/"],
    ["draw/"],
    // Streams and tables come together.
    ["writer/"],
    // State as bytes.
    ["record/"],
    // A Replay for hosts without JavaScript.
    ["embed/"],
    // The ABI pages: exports only.
    ["index", "embed", "kernels"],
  ],
  src: [
    ["caller", "host", "typed"],
    ["core/abi", "error", "limits"],
    ["rate-limiter", "seed", "selector", "wait", "warnings", "prints"],
    // What a step is, and where its bytes are.
    ["spec/"],
    ["column", "core/arrays"],
    ["batch", "n-step", "store/format/kinds"],
    // The only way to WebAssembly.
    ["core/"],
    // What outlives a process: places for files, values and sections as bytes, groups of sections; then a Replay in them.
    ["store/directory/", "store/saved", "store/tags"],
    ["store/tagged", "store/untagged"],
    ["store/format/"],
    ["store/log/", "store/snapshot/"],
    ["store/journal/"],
    ["store/open"],
    // The public nouns.
    ["asked"],
    ["sample"],
    // Whoever loops over draws, or waits for them.
    ["draws/"],
    ["transitions/"],
    ["table"],
    ["plan", "rules"],
    ["ends"],
    ["barren", "refusal"],
    ["writer"],
    ["writers"],
    // Writers across a port: both of its ends.
    ["remote/"],
    ["replay"],
    ["provide"],
    // The main entry: exports only.
    ["index"],
    ["store/index"],
    // TF-Agents' and Reverb's classes.
    ["agents/nest", "agents/signature", "agents/time-step", "agents/windows"],
    ["agents/patterns/", "agents/sampling/", "agents/trajectory"],
    ["agents/writers/"],
    ["agents/settle", "agents/transitions/"],
    ["agents/buffers/", "agents/datasets/", "agents/observers/"],
    ["agents/drivers/"],
    ["agents/index"],
    // PFRL's.
    ["pfrl/transition"],
    ["pfrl/rows/"],
    ["pfrl/arguments", "pfrl/store/"],
    ["pfrl/batch-experiences", "pfrl/files/"],
    ["pfrl/batch-recurrent-experiences"],
    ["pfrl/buffers/"],
    ["pfrl/index"],
    // Tables on a real server of Reverb's.
    ["reverb/wire/", "reverb/grpc/"],
    ["reverb/tensors/"],
    ["reverb/"],
    // The element that looks at a Replay, and what serves it over a port.
    ["inspector/survey"],
    ["inspector/ages", "inspector/chance", "inspector/dom", "inspector/format", "inspector/histogram", "inspector/theme", "inspector/turns"],
    ["inspector/answer-form", "inspector/episodes", "inspector/leaf-view", "inspector/messages", "inspector/model", "inspector/plot"],
    ["inspector/walk"],
    ["inspector/looked", "inspector/panels/"],
    ["inspector/surveyor"],
    ["inspector/serve", "inspector/source"],
    ["inspector/element"],
    ["inspector/index"],
    // Datasets of episodes.
    ["rlds/dataset/"],
    ["rlds/import/", "rlds/trajectory/"],
    ["rlds/transform/"],
    ["rlds/index"],
    // Recordings: what their files say, which readers of files know too; the recorder.
    ["record/form/"],
    ["record/"],
  ],
};

/** Folders of src that may name a runtime and import packages. */
export const OUTER = ["src/adapters/", "src/builtins/", "src/cli/", "src/formats/", "src/inspector/", "src/reverb/", "src/runtime/", "src/store/directory/"];

/** Of these what runs anywhere, and asks for the runtime only when it is called: others may build on it. */
export const ANYWHERE = ["src/formats/index.ts", "src/formats/images/frame-png.ts", "src/formats/tfds/crc32c.ts", "src/store/directory/"];

/** Modules made by the build, by the only ones that may import them. */
export const GENERATED = { "dist/core-bytes.js": "src/core/module.ts" };

/** Who may call the core's exports and look at its memory. */
export const RAW = ["src/core/"];
