/** What the command line takes beside the public entry: from one module, since an error must be of one class wherever it comes from. */

export { filmReferences } from "../datasets/formats/film-references.ts";
export { parseJson } from "../datasets/formats/json.ts";
export { lockFile } from "../datasets/formats/sinks/node-locks.ts";
export { attempt } from "../datasets/formats/sinks/staging.ts";
export { checkInside, isUrl } from "../datasets/formats/sources/source.ts";
export { EpisodeSet } from "../datasets/rlds/edit/episode-numbers.ts";
