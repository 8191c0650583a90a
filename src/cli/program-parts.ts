/**
 * Exports the parts of the package that the command line needs in addition to the public entry. All parts are in one module, so that the built package contains
 * each error class only once.
 */

export { filmReferences } from "../datasets/formats/film-references.ts";
export { parseJson } from "../datasets/formats/json.ts";
export { lockFile } from "../datasets/formats/sinks/node-locks.ts";
export { attempt } from "../datasets/formats/sinks/staging.ts";
export { checkInside, isUrl } from "../datasets/formats/sources/source.ts";
export { CHECK_FAULTS, CHECK_WARNINGS } from "../datasets/rlds/check/check-report.ts";
export { type EpisodeNumbers, EpisodeSet } from "../datasets/rlds/edit/episode-numbers.ts";
export { selectSets } from "../datasets/rlds/edit/select-episodes.ts";
export { node } from "../files/node.ts";
export { Core } from "../memory/core.ts";
export { layoutOf } from "../memory/layout.ts";
export { SectionMemory } from "../memory/section-memory.ts";
export { planOf } from "../replay/plan.ts";
export { isLeaf } from "../schema/leaf.ts";
export { valueAt } from "../schema/nest.ts";
export { selectorOf } from "../schema/selector.ts";
export { leavesOf } from "../schema/spec.ts";
export { decodeTagged } from "../storage/decode.ts";
export { checkHead } from "../storage/format/head.ts";
export { MAGIC, SectionParser } from "../storage/format/section.ts";
export { migrateJournal } from "../storage/journal/migrate.ts";
export { peekLog } from "../storage/log/peek.ts";
export { removePath, setPath } from "../storage/migration/leaf-names.ts";
export { changedTables } from "../storage/migration/options.ts";
export { aboutIn } from "../storage/open.ts";
export { migrateSnapshot } from "../storage/snapshot/migrate.ts";
