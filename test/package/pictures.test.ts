/** Checks the pictures of the documents: each must equal the output of its script, have its colors without a style sheet, and show the package's behavior. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { decodeApng } from "fast-png";
import { describe, expect, it, test } from "vitest";
import { PICTURES } from "../../docs/pictures/index.mjs";
import { ROWS, ratiosOf } from "../../docs/pictures/ratios.mjs";
import { RULE, SEQUENCES } from "../../docs/pictures/sequences.mjs";
import { f32, fifo, i32, Replay } from "../../src/index.ts";
import { root } from "../support/core.ts";

const read = (file: string) => readFileSync(join(root, file), "utf8");
const files = Object.entries(PICTURES) as [string, () => string][];

describe.each(files)("%s", (file, draw) => {
  it("equals the output of its script", () => expect(read(file)).toBe(draw()));

  it("has its light colours in attributes, so that viewers without style sheets show them", () => {
    const shapes = [...draw().matchAll(/<(?:rect|text|path|circle|polygon) [^>]*>/g)].map(([shape]) => shape);
    expect(shapes.length).toBeGreaterThan(20);
    expect(shapes.filter((shape) => !/ fill="(#[0-9a-f]{6}|none)"/.test(shape))).toEqual([]);
    expect(shapes.filter((shape) => / s-/.test(shape) && !/ stroke="#[0-9a-f]{6}"/.test(shape))).toEqual([]);
    expect(draw()).not.toMatch(/var\(|marker/);
  });

  it("has a dark colour for each class that it uses", () => {
    const svg = draw();
    const used = [...svg.matchAll(/class="([^"]*)"/g)].flatMap(([, names]) => (names as string).split(" ").filter(Boolean));
    for (const name of new Set(used)) expect(svg).toContain(`.${name}{`);
  });

  it("has a title and a description in words", () => {
    expect(draw()).toMatch(/<title id="title">.{10,}<\/title>\n<desc id="description">.{60,}<\/desc>/);
  });
});

test("every picture of docs/pictures is drawn by a script", () => {
  const drawn = readdirSync(join(root, "docs/pictures")).filter((file) => file.endsWith(".svg"));
  expect(drawn.map((file) => `docs/pictures/${file}`)).toEqual(Object.keys(PICTURES).filter((file) => file.startsWith("docs/pictures/")));
});

test("the chart shows the ratios of the page, including losses", () => {
  const ratios = ratiosOf(read("bench/README.md"));
  expect(ratios).toEqual([...ratios].sort((a, b) => b - a));
  expect(ratios.filter((ratio) => ratio < 1).length).toBeGreaterThan(3);
  const row = (name: string, ratio: string) => `| ${name} | 1 | 2 | µs | ${ratio} | | a rival |`;
  const page = ROWS.map(([name], i) => row(name as string, String(ROWS.length - i)));
  expect(ratiosOf(page.join("\n"))[0]).toBe(ROWS.length);
  expect(() => ratiosOf(page.slice(1).join("\n"))).toThrow(`bench/README.md has no row "${ROWS[0]?.[0]}"`);
});

test("the picture shows the sequences that its rule creates", () => {
  const spec = { observation: i32(), action: i32(), reward: f32() };
  const replay = new Replay({ spec, tables: { t: { maxSize: 9, sampler: fifo() } } });
  const writer = replay.writer({ items: [{ table: "t", sequence: RULE }] });
  for (let step = 0; step < 10; step++) writer.append({ observation: step, action: 0, reward: 1 });
  writer.endEpisode({ final: { observation: 10 }, terminated: true });
  const { observation, learningMask, mask } = replay.tables.t.sequences({ gamma: 1 }).sample(replay.tables.t.size, { replacement: false });
  expect(observation.shape).toEqual([SEQUENCES.length, RULE.length]);
  for (const [i, { first, burnIn, bootstrap }] of SEQUENCES.entries()) {
    const row = <T>(data: ArrayLike<T>) => Array.from(data).slice(RULE.length * i, RULE.length * (i + 1));
    const steps = row(observation.data).filter((_, j) => row(mask.data)[j] === 1);
    expect(steps).toEqual(Array.from({ length: bootstrap - first + 1 }, (_, j) => first + j));
    const learned = row(observation.data).filter((_, j) => row(learningMask.data)[j] === 1);
    expect(learned).toEqual(Array.from({ length: bootstrap - first - burnIn }, (_, j) => first + burnIn + j));
  }
});

test("the chart of other libraries uses no CSS variables, because librsvg does not support them", () => {
  const [styles] = read("bench/peers/chart.svg").match(/<style>[\s\S]*<\/style>/) as RegExpMatchArray;
  expect(styles).not.toContain("var(");
  expect(styles.indexOf(".paper { fill: #ffffff; }")).toBeLessThan(styles.indexOf("@media"));
});

test.each(["docs/page-loop.png", "docs/page-loop-dark.png"])("%s is animated, and small enough for a page", (file) => {
  const bytes = readFileSync(join(root, file));
  expect(bytes.length).toBeLessThan(800_000);
  const { frames, width, height, channels } = decodeApng(bytes);
  expect(frames.length).toBeGreaterThan(20);
  const [first, last] = [frames[0], frames.at(-1)].map((frame) => frame?.data as Uint8Array);
  expect(first?.length).toBe(width * height * channels);
  const differ = (first as Uint8Array).filter((byte, i) => byte !== last?.[i]).length;
  expect(differ).toBeGreaterThan(2000);
});

test("pictures for dark mode exist, each next to a light picture", () => {
  const pictures = ["README.md", "docs/guides/inspect.md"].flatMap((page) => {
    const found = [...read(page).matchAll(/<picture>[\s\S]*?<\/picture>/g)].map(([picture]) => picture);
    return found.map((picture) => ({ folder: dirname(page), picture }));
  });
  expect(pictures.length).toBe(2);
  for (const { folder, picture } of pictures) {
    expect(picture).toMatch(/prefers-color-scheme: dark/);
    expect(picture).toMatch(/<img src="[^"]+" alt="[^"]{40,}">/);
    for (const [, file] of picture.matchAll(/src(?:set)?="([^"]+)"/g)) expect(existsSync(join(root, folder, file as string)), file).toBe(true);
  }
});
