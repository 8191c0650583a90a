/** Generates random Replays in two forms: the options of TypeScript, and the text of embed.wasm. */
import { type Among, type ItemRule, packed, recency, type SampleOptions, type Spec, shared, type TransitionOptions } from "../../src/index.ts";
import { layoutOf } from "../../src/memory/layout.ts";
import { maxStepBytes } from "../../src/memory/stored-bytes.ts";
import { DTYPES, type Dtype } from "../../src/schema/dtype.ts";
import { isLeaf, type RowLeaf } from "../../src/schema/leaf.ts";
import { checkRateLimiter, NO_LIMIT, type RateLimiter } from "../../src/schema/rate-limiter.ts";
import { SELECTOR_KINDS, SELECTORS, type Selector, selectorOf } from "../../src/schema/selector.ts";
import { type FoundLeaf, leavesOf } from "../../src/schema/spec.ts";
import type { TransitionRole } from "../../src/schema/transition-roles.ts";
import type { TableOptions } from "../../src/tables/table.ts";
import type { TestRandom } from "../support/random.ts";

/** Allows undefined options, which are left out on both sides, so that defaults are compared. */
type Maybe<T> = { readonly [K in keyof T]: T[K] | undefined };

export type WorldTable = Pick<TableOptions, "maxSize"> &
  Maybe<Required<Pick<TableOptions, "sampler" | "remover" | "rateLimiter" | "maxPending" | "maxSteps" | "maxTimesSampled">>>;

export interface WorldWriter extends Maybe<{ keep: number; lanes: number; across: boolean; autoreset: "nextStep" | "sameStep" | "disabled" }> {
  readonly items: readonly ItemRule[];
}

export interface WorldView {
  readonly table: string;
  readonly transitions: TransitionOptions | undefined;
  readonly sample: Pick<SampleOptions, "replacement" | "among" | "stratified" | "length" | "offset" | "cross" | "mask" | "normalize">;
  /** The `weights` option of the view. If undefined, the text omits it. */
  readonly weights: "none" | "batch" | "table" | undefined;
}

export interface World {
  readonly spec: Spec;
  readonly roles: { readonly [R in TransitionRole]?: string };
  readonly tables: { readonly [name: string]: WorldTable };
  readonly writers: readonly WorldWriter[];
  readonly views: readonly WorldView[];
  readonly seed: bigint | undefined;
  readonly storedBytes?: { readonly max: number; readonly evictFrom?: string } | undefined;
  /** Whether the text omits optional parts: default numbers of a limiter, and the line of the first writer. */
  readonly terse: boolean;
}

const dtypes = Object.keys(DTYPES) as Dtype[];
const KEYS = ["a", "b", "Z", "10", "9", "shape", "é", "long name", '"quoted" \\ #', "\u{1f600}", "\uffee", "a\nb"];
const maybe = <T>(random: TestRandom, chance: number, make: () => T): T | undefined => (random.next() < chance ? make() : undefined);

function shapeOf(random: TestRandom): number[] {
  if (random.below(12) === 0) return [random.pick([40, 70, 300, 1100])];
  return Array.from({ length: random.below(4) }, () => 1 + random.below(4));
}

function leafOf(random: TestRandom): RowLeaf {
  const kind = random.below(10);
  const leaf: RowLeaf =
    kind < 2
      ? { dtype: "string", shape: random.pick([[], [], [2], [2, 1]]), maxBytes: random.pick([1, 5, 8, 300]) }
      : { dtype: random.pick(dtypes), shape: shapeOf(random) };
  if (random.below(5) !== 0) return leaf;
  if (random.below(3) === 0) return packedLeafOf(random);
  // Usually, all frames with the same name have the same size.
  const frame =
    random.below(30) === 0
      ? leaf
      : random.pick<RowLeaf>([
          { dtype: "u8", shape: [3, 2] },
          { dtype: "i16", shape: [3] },
        ]);
  return random.below(2) === 0 ? shared("frames", frame as never, random.pick([1, 2, 4])) : shared(random.pick(["frames", "other"]), frame as never);
}

/** Leaves of various dtypes and shapes. A value of each takes 272 bytes, so all of them can be packed under the same name. */
const PACKED_FRAMES: readonly RowLeaf[] = [
  { dtype: "u8", shape: [16, 17] },
  { dtype: "u8", shape: [17, 4, 4] },
  { dtype: "u8", shape: [4, 17, 4, 1] },
  { dtype: "u16", shape: [136] },
  { dtype: "f32", shape: [17, 4] },
  { dtype: "f64", shape: [2, 17, 1] },
  { dtype: "string", shape: [], maxBytes: 268 },
];

function packedLeafOf(random: TestRandom): RowLeaf {
  // Usually, all frames with the same name have the same size and are packed in the same way.
  const frame =
    random.below(30) === 0
      ? random.pick<RowLeaf>([
          { dtype: "u8", shape: [400] },
          { dtype: "i32", shape: [5, 40] },
        ])
      : random.pick(PACKED_FRAMES);
  const name = random.below(40) === 0 ? "frames" : random.pick(["packs", "packs", "other packs"]);
  const options = random.pick([undefined, {}, { ratio: 4 }, ...(random.below(20) === 0 ? [{ ratio: 2.5 }] : [])]);
  if (random.below(2) === 0) return packed(name, frame as never, options);
  return packed(name, frame as never, random.pick([1, 2, 4]), options);
}

function nodeOf(random: TestRandom, depth: number): Spec {
  const kind = depth === 0 ? 0 : random.below(4);
  if (kind < 2) return leafOf(random);
  if (kind === 2) return Array.from({ length: random.pick([1, 2, 3, 11]) }, () => nodeOf(random, depth - 1));
  return Object.fromEntries(Array.from({ length: 1 + random.below(3) }, () => [random.pick(KEYS), nodeOf(random, depth - 1)]));
}

const numeric: readonly Dtype[] = dtypes.filter((dtype) => dtype !== "bool");

/** Returns a spec whose steps can form transitions, with the roles of its leaves, or in a fifth of all cases any spec. */
function specOf(random: TestRandom): Pick<World, "spec" | "roles"> {
  if (random.below(5) === 0) return { spec: nodeOf(random, 2), roles: {} };
  const renamed = random.below(4) === 0;
  const name = (role: string) => (renamed ? `my ${role}` : role);
  const one = (from: readonly Dtype[]): RowLeaf => ({ dtype: random.pick(from), shape: random.pick([[], [], [1]]) });
  const spec: { [name: string]: Spec } = {
    [name("observation")]: nodeOf(random, 1),
    [name("action")]: nodeOf(random, 1),
    [name("reward")]: random.below(30) === 0 ? leafOf(random) : one(numeric),
    ...maybe(random, 0.4, () => ({ [name("discount")]: one(["f32", "f64", "u8"]) })),
    ...maybe(random, 0.4, () => ({ [name("terminated")]: one(["bool", "u8", "i32", "f32"]) })),
    ...maybe(random, 0.5, () => ({ [random.pick(KEYS)]: nodeOf(random, 2) })),
    ...maybe(random, 0.3, () => ({ mask: nodeOf(random, 1) })),
  };
  const roles = Object.fromEntries(
    (["observation", "action", "reward", "discount", "terminated"] as const).flatMap((role) => (renamed && name(role) in spec ? [[role, name(role)]] : [])),
  );
  return { spec, roles };
}

function randomSelector(random: TestRandom, removes = false): Selector {
  const kind = random.pick(SELECTORS.filter((name) => !(removes && SELECTOR_KINDS[name].samplesOnly)));
  if (kind === "recency") return recency({ exponent: random.pick([0, 0.5, 1, 2]) });
  if (!SELECTOR_KINDS[kind].takesExponent) return { kind };
  return selectorOf(kind, random.pick([0, 0.5, 0.6, 1, 2, -1]), random.below(2) === 0);
}

function tableOf(random: TestRandom): WorldTable {
  const rateLimiter = random.pick([
    undefined,
    undefined,
    NO_LIMIT,
    { ...NO_LIMIT, minSize: 3 },
    { samplesPerInsert: 2.5, minSize: 2, minDiff: -4, maxDiff: 12.5 },
    { ...NO_LIMIT, minDiff: 0, maxDiff: 6 },
  ]);
  if (rateLimiter !== undefined) checkRateLimiter("rateLimiter", rateLimiter);
  const sampler = maybe(random, 0.85, () => randomSelector(random));
  return {
    maxSize: random.pick([1, 2, 5, 12, 40]),
    sampler,
    remover: random.pick<Selector | undefined>([undefined, { kind: "fifo" }, sampler?.kind === "recency" ? undefined : sampler, randomSelector(random, true)]),
    rateLimiter,
    maxPending: random.pick([undefined, 0, 2, 1023]),
    maxSteps: maybe(random, 0.2, () => 3 + random.below(30)),
    maxTimesSampled: maybe(random, 0.2, () => 1 + random.below(4)),
  };
}

/** How the items of a world are created: as windows of any length, by rules of n steps, or as windows that are transitions. */
type Making = "windows" | "nStep" | "long windows";

function ruleOf(random: TestRandom, tables: readonly string[], making: Making): ItemRule {
  const table = random.pick(tables);
  const priority = random.pick<number | "max" | undefined>([undefined, undefined, "max", 0, 2.25, 1e-3]);
  if (making === "nStep") return { table, nStep: random.pick([1, 1, 2, 3, 5]), priority, finite: random.below(3) > 0 };
  return { table, length: random.pick(making === "windows" ? [1, 2, 3, 4, 8] : [2, 3, 3, 4, 4, 8]), stride: random.pick([undefined, 1, 2, 3]), priority };
}

function writerOf(random: TestRandom, tables: readonly string[], making: Making): WorldWriter {
  const rule = () => ruleOf(random, tables, random.below(12) === 0 ? random.pick(["windows", "nStep"] as const) : making);
  const items = Array.from({ length: random.pick([0, 1, 1, 2]) }, rule);
  // With no options, the text can omit the `writer` line.
  if (random.below(6) === 0) return { items, keep: undefined, lanes: undefined, across: undefined, autoreset: undefined };
  const lanes = random.pick([undefined, 1, 1, 2, 3]);
  const mustSay = lanes !== undefined && lanes > 1 && random.below(10) > 0;
  return {
    items,
    keep: maybe(random, 0.3, () => 5 + random.below(12)),
    lanes,
    across: random.pick([undefined, false, false, true]),
    autoreset: random.pick(["disabled", "nextStep", "sameStep", mustSay ? "sameStep" : undefined] as const),
  };
}

function amongOf(random: TestRandom): Among | undefined {
  const k = 1 + random.below(6);
  const share = { share: random.pick([0.1, 0.5, 1]) };
  return random.pick([undefined, k, { newest: k }, { oldest: k }, { newest: share }, { oldest: share }]);
}

/** @param names the names of leaves without a role @param transitions whether the view may have transitions */
function viewOf(random: TestRandom, tables: readonly string[], names: readonly string[], transitions: boolean): WorldView {
  const weights = random.pick([undefined, undefined, "none", "batch", "table"] as const);
  const flag = (chance: number) => random.pick([undefined, random.next() < chance]);
  const chosen = {
    replacement: maybe(random, 0.5, () => random.below(2) === 0),
    among: random.pick([undefined, undefined, undefined, amongOf(random)]),
    stratified: flag(0.25),
    normalize: weights,
  };
  const table = random.pick(tables);
  if (random.below(20) === 0 || (transitions && random.below(2) === 0)) {
    // Columns of the next step have capitalized names, such as nextMask. embed.wasm capitalizes only letters from a to z.
    const known = ["action", ...names.filter((name) => name !== "é"), ...(random.below(20) === 0 ? ["mask"] : [])];
    const next = maybe(random, 0.4, () => Array.from({ length: 1 + random.below(2) }, () => random.pick(known)));
    const n = maybe(random, 0.4, () => 1 + random.below(random.pick([1, 2, 3])));
    const dtype = random.pick([undefined, "f32", "f64"] as const);
    const shown = { gamma: random.pick([0, 0.5, 0.99, 1]), ...(n && { n }), ...(next && { next }), ...(dtype && { dtype }) };
    return { table, transitions: shown, sample: chosen, weights };
  }
  const length = maybe(random, 0.5, () => 1 + random.below(6));
  const offset = random.pick([undefined, "start", "end", "uniform"] as const);
  return { table, transitions: undefined, weights, sample: { ...chosen, offset, cross: flag(0.5), mask: flag(0.5), length } };
}

/** Returns a limit that takes effect, or occasionally a limit that is smaller than a step may need. */
function storedBytesOf(random: TestRandom, spec: Spec, tables: readonly string[]): World["storedBytes"] {
  const evictFrom = random.below(4) === 0 ? {} : { evictFrom: random.pick(tables) };
  const step = leastStored(spec);
  return { max: Math.max(1, step * random.pick([1, 2, 3.5, 6, 20]) - (random.below(20) === 0 ? 1 : 0)), ...evictFrom };
}

/** Returns the number of bytes that one step may need, which is the minimum of `storedBytes`. Returns 100 for leaves that contradict each other. */
function leastStored(spec: Spec): number {
  try {
    return maxStepBytes(layoutOf(leavesOf(spec)));
  } catch {
    return 100;
  }
}

export function worldOf(random: TestRandom): World {
  const { spec, roles } = specOf(random);
  const names = ["memory", "a second table"].slice(0, 1 + random.below(2));
  const tops = isLeaf(spec) ? [] : Object.keys(spec);
  const transitions = tops.some((name) => name.endsWith("reward"));
  const making = transitions ? random.pick(["nStep", "nStep", "long windows"] as const) : "windows";
  const others = tops.filter((name) => !/(observation|action|reward|discount|terminated)$/.test(name));
  return {
    spec,
    roles,
    tables: Object.fromEntries(names.map((name) => [name, tableOf(random)])),
    writers: Array.from({ length: 1 + random.below(2) }, () => writerOf(random, names, making)),
    views: Array.from({ length: 1 + random.below(3) }, () => viewOf(random, names, others, transitions)),
    storedBytes: maybe(random, 0.2, () => storedBytesOf(random, spec, names)),
    seed: maybe(random, 0.9, () => BigInt(random.below(2 ** 31)) * 2n ** BigInt(random.below(33))),
    terse: random.below(2) === 0,
  };
}

/** Quotes a word as the text of a Replay requires. */
export function quoted(word: string): string {
  return `"${word.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}

/** Formats a number with few digits in decimal, any other number by its bits. */
export function numberText(x: number): string {
  const plain = String(x);
  if (/^-?\d{0,8}(\.\d{0,6})?$/.test(plain)) return plain;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, x);
  return `0x${bits.getBigUint64(0).toString(16).padStart(16, "0")}`;
}

function listsIn(spec: Spec, path: string): string[] {
  if (isLeaf(spec)) return [];
  const below = Object.entries(spec).flatMap(([name, node]) => listsIn(node as Spec, path === "" ? name : `${path}.${name}`));
  return Array.isArray(spec) ? [path, ...below] : below;
}

function leafLine({ path, leaf }: FoundLeaf): string {
  const dtype = leaf.dtype === "string" ? `text ${leaf.maxBytes}` : leaf.dtype;
  const { shared: name, stack, packed: ratio } = leaf;
  // The text accepts both options in either order.
  const options = words({ ratio: ratio === undefined || ratio === 4 ? undefined : numberText(ratio), stack });
  const frames = name === undefined ? "" : ` ${ratio === undefined ? "shared" : "packed"} ${quoted(name)}${options}`;
  return `leaf ${quoted(path)} ${[dtype, ...leaf.shape].join(" ")}${frames}`;
}

function selectorText({ kind, exponent = 1, withMin }: Selector): string {
  return `${kind}${withMin ? "WithMin" : ""}${SELECTOR_KINDS[kind].takesExponent ? ` ${numberText(exponent)}` : ""}`;
}

/** Returns the options that are set as words: for each, a space, its name, a space and its value. */
function words(of: { readonly [word: string]: string | number | undefined }): string {
  return Object.entries(of)
    .map(([word, value]) => (value === undefined ? "" : ` ${word} ${value}`))
    .join("");
}

function tableLine(name: string, table: WorldTable, terse: boolean): string {
  const { maxSize, sampler, remover, rateLimiter, maxPending, maxSteps, maxTimesSampled } = table;
  const numbers = Object.entries(rateLimiter ?? {}).map(([word, x]) => [word, terse && x === NO_LIMIT[word as keyof RateLimiter] ? undefined : numberText(x)]);
  const selectors = { sampler: sampler && selectorText(sampler), remover: remover && selectorText(remover) };
  const limits = { pending: maxPending, steps: maxSteps, timesSampled: maxTimesSampled };
  return `table ${quoted(name)}${words({ size: maxSize, ...selectors, ...Object.fromEntries(numbers), ...limits })}`;
}

/** @param bare whether to omit the `writer` line if the writer has no options */
function writerLines({ keep, lanes, across, autoreset, items }: WorldWriter, bare: boolean): string[] {
  const rules = items.map(({ table, length, stride, priority, nStep, sequence, finite }) => {
    const form = sequence === undefined ? (nStep === undefined ? `length ${length}` : `nStep ${nStep}`) : `sequence ${sequence.length}`;
    const words = [`rule ${quoted(table)}`, form];
    if (sequence?.burnIn !== undefined) words.push(`burnIn ${sequence.burnIn}`);
    if (sequence?.stride !== undefined) words.push(`stride ${sequence.stride}`);
    if (stride !== undefined) words.push(`stride ${stride}`);
    if (priority !== undefined) words.push(`priority ${typeof priority === "number" ? numberText(priority) : priority}`);
    if (finite === false) words.push("infinite");
    return words.join(" ");
  });
  const said = words({ keep, lanes, autoreset }) + (across ? " across" : "");
  return bare && said === "" ? rules : [`writer${said}`, ...rules];
}

/** Returns the lines of all writers. The line of the first writer can be omitted if its rules imply the writer, or if it is the only one. */
export function writersText({ writers, terse }: Pick<World, "writers" | "terse">): string[] {
  return writers.flatMap((writer, i) => writerLines(writer, terse && i === 0 && (writer.items.length > 0 || writers.length === 1)));
}

export function viewLine({ table, transitions, sample, weights }: WorldView): string {
  const { replacement, among, stratified, length, offset, cross, mask } = sample;
  const { gamma = 0, n, next = [], dtype } = transitions ?? {};
  const flags = { cross, cut: cross === false, mask, f64: dtype === "f64", distinct: replacement === false, stratified };
  const said = Object.entries(flags).flatMap(([word, isSaid]) => (isSaid ? [word] : []));
  const shown = transitions === undefined ? `items${words({ offset, length })}` : `transitions${words({ gamma: numberText(gamma), n })}`;
  const nexts = next.map((name) => ` next ${quoted(name)}`).join("");
  return `view ${quoted(table)} ${shown}${nexts}${words({ among: amongText(among), weights })} ${said.join(" ")}`;
}

function amongText(among: Among | undefined): string | undefined {
  if (among === undefined || typeof among === "number") return among === undefined ? undefined : `${among}`;
  const [side, value] = Object.entries(among)[0] as [string, number | { readonly share: number }];
  return typeof value === "number" ? `${side} ${value}` : `${side} share ${numberText(value.share)}`;
}

function storedLine({ max, evictFrom }: NonNullable<World["storedBytes"]>): string {
  return `stored ${numberText(max)}${evictFrom === undefined ? "" : ` evict ${quoted(evictFrom)}`}`;
}

/** Returns the text that describes a world. The leaves are in random order. */
export function textOf(random: TestRandom, world: World): string {
  const { spec, roles, tables, views, seed, storedBytes, terse } = world;
  const leaves = leavesOf(spec).map((leaf) => ({ leaf, place: random.next() }));
  return [
    "# A random Replay.",
    ...leaves.sort((a, b) => a.place - b.place).map(({ leaf }) => leafLine(leaf)),
    ...listsIn(spec, "").map((path) => `list ${quoted(path)}`),
    ...Object.entries(roles).map(([role, path]) => `role ${role} ${quoted(path)}`),
    ...Object.entries(tables).map(([name, table]) => tableLine(name, table, terse)),
    ...(storedBytes === undefined ? [] : [storedLine(storedBytes)]),
    ...writersText(world),
    ...views.map(viewLine),
    ...(seed === undefined ? [] : [`seed ${BigInt.asUintN(64, seed)} # and no more`]),
  ].join("\n");
}
