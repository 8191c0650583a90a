/** What the command line takes beside the public entry: from one module, since an error must be of one class wherever it comes from. */
export { EpisodeSet } from "../rlds/transform/episode-numbers.ts";
export { filmReferences } from "./film-references.ts";
export { parseJson } from "./json.ts";
export { lockFile } from "./sinks/node-locks.ts";
export { attempt } from "./sinks/staging.ts";
export { checkInside } from "./sources/source.ts";
