/** Tests build/english.mjs: it must find each forbidden habit in every kind of text, accept sentences that only look similar, and fail if it finds a habit. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HABITS, habitsIn } from "../../build/english.mjs";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

/** For each habit, sentences that have it (`found`), and similar sentences that do not have it (`left`). */
const SENTENCES: { readonly [habit: string]: { readonly found: readonly string[]; readonly left: readonly string[] } } = {
  "is no": { found: ["a file is no folder", "These are no leaves."], left: ["there is no table", "There is no table.", "It is no longer open.", "is noted"] },
  "must be said": { found: ["terminated must be said"], left: ["it must be set"] },
  "a lane": {
    found: ["bytes a step", "one a lane", "twice a second", "a file an episode", "32 draws a call"],
    left: [
      "returns a step",
      "it calls a writer",
      "draws a sample",
      "the steps of a lane",
      "one holds a row",
      "steps per lane",
      "a row of a table",
      "one by a writer",
      "it leaves a step without",
      "after how many draws an item leaves",
      "how many calls a Replay had",
      "which items an episode created",
      "steps that come one by one share a frame",
      "no item after the first one until a draw",
      "these items a second time",
    ],
  },
  alone: { found: ["for rows alone."], left: ["let alone a table", "leave alone", "a stand-alone file"] },
  "for ever": { found: ["it waits for ever"], left: ["for every step"] },
  "Of …": {
    found: ["Of `final` only rows are read.", "It waits. Of a wait", "@param rows Of the table"],
    left: ["Of course it waits.", "the rows of it", "Often"],
  },
  "got undefined": { found: ["gamma must be a number, got undefined"], left: ["undefined"] },
  "Told of …": { found: ["Told of each step.", "It ends. Asked before the draw."], left: ["Tolerates each step.", "the host is told"] },
  "at once": { found: ["it ends at once"], left: ["at one step"] },
  "so many": { found: ["so many bytes"], left: ["so many steps that it fails", "that many"] },
  "hardly meant": { found: ["allowed and hardly meant"], left: ["hardly ever"] },
  "goes on": { found: ["it goes on", "gone on with"], left: ["continues"] },
  "gives back": { found: ["gives back the room", "gives its memory back", "is given back"], left: ["gives it to the host"] },
  "lets go": { found: ["lets go of it", "is let go"], left: ["lets it go"] },
  "begins anew": { found: ["the episode begins anew"], left: ["renewal"] },
  whoever: { found: ["whoever reads it", "Whoever reads it"], left: ["who reads it"] },
  "also where": { found: ["also where it fails"], left: ["where it fails"] },
  ", too": { found: ["it fails, too.", "this, too"], left: ["it is, too often, late", "too long"] },
  "in vain": { found: ["it waits in vain"], left: ["in various ways"] },
};

const habits = (path: string, source: string) => habitsIn(path, source).map(({ line, habit }: { line: number; habit: string }) => `${line} ${habit}`);

describe("each habit", () => {
  test("has example sentences", () => {
    expect(HABITS.map(({ habit }: { habit: string }) => habit.replaceAll("`", ""))).toEqual(Object.keys(SENTENCES));
  });

  for (const [habit, { found, left }] of Object.entries(SENTENCES)) {
    test(habit, () => {
      for (const text of found) expect([text, ...habits("a.md", text)]).toEqual([text, `1 \`${habit}\``]);
      for (const text of left) expect([text, ...habits("a.md", text)]).toEqual([text]);
    });
  }
});

describe("texts", () => {
  test("comprise comments and literals in code, across lines and in templates", () => {
    const source = [
      "/**",
      " * A file is",
      " * no folder. `is no` is code, and so is",
      " * ```",
      " * this is no",
      " * ```",
      " */",
      "const a = b / 2; // It waits for",
      "// ever.",
      "const pattern = /is no '/g;",
      'throw new Error("it waits at once");',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the source of a template
      "const told = `${a} is no ${{ b: `${c} bytes a step` }.b}, and ${d} goes on`;",
      'const key = { "at once": 1, atonce: a.at.once };',
    ].join("\n");
    const wanted = ["2 `is no`", "8 `for ever`", "11 `at once`", "12 `is no`", "12 `a lane`", "12 `goes on`", "13 `at once`"];
    expect(habits("src/a.ts", source)).toEqual(wanted);
    expect(habits("assembly/a.ts", source)).toEqual(wanted);
  });

  test("comprise only comments in tests", () => {
    const source = '// It is no step.\nexpect(a).toBe("it is no step");';
    expect(habits("test/unit/a.test.ts", source)).toEqual(["1 `is no`"]);
    expect(habits("src/a.ts", source)).toEqual(["1 `is no`", "2 `is no`"]);
  });

  test("comprise comments and literals in Python, Lua and C", () => {
    expect(habits("embed/a.py", 'def a():\n    """It is\n    no step."""\n    raise ValueError(f"{b} at once")  # goes on\n')).toEqual([
      "2 `is no`",
      "4 `at once`",
      "4 `goes on`",
    ]);
    expect(habits("embed/a.lua", '-- It is\n-- no step.\nerror("it\'s no use at once") --[[ It goes\non ]]')).toEqual([
      "1 `is no`",
      "3 `at once`",
      "3 `goes on`",
    ]);
    expect(habits("embed/a.c", '/* It is\n * no step. */\nfail("at once"); // goes on\nchar c = \'"\'; int at_once;')).toEqual([
      "1 `is no`",
      "3 `at once`",
      "3 `goes on`",
    ]);
  });

  test("comprise paragraphs, list items, headings and cells in Markdown, without code and addresses", () => {
    const source = [
      "# It is no step",
      "It waits `at once` for",
      "ever. [it](at-once.md)",
      "",
      "- goes",
      "- on",
      "",
      "| is | no |",
      "|---|---|",
      "| at once | ok |",
      "",
      "```js",
      "// at once",
      "```",
    ].join("\n");
    expect(habits("a.md", source)).toEqual(["1 `is no`", "2 `for ever`", "10 `at once`"]);
  });
});

describe("Markdown", () => {
  const words = (count: number) => Array.from({ length: count }, (_, k) => `w${k}`).join(" ");

  test("has paragraphs of at most 80 words", () => {
    expect(habits("a.md", `${words(80)}\n\n- ${words(80)}\n- ${words(80)}\n\n\`\`\`\n${words(90)}\n\`\`\``)).toEqual([]);
    expect(habits("a.md", `${words(80)}\nw — | w\n\n- ${words(81)}`)).toEqual(["1 82 words", "4 81 words"]);
    expect(habits("src/a.ts", `// ${words(90)}`)).toEqual([]);
  });

  test("has no blank lines in tables", () => {
    expect(habits("a.md", "| a |\n|---|\n| b |\n\n| c |\n|---|\n| d |\n\ntext\n")).toEqual([]);
    expect(habits("a.md", "| a |\n|---|\n| b |\n\n| c |\n| d |\n")).toEqual(["4 blank line in a table"]);
  });
});

describe("the lint", () => {
  let tree = "";
  beforeEach(() => {
    tree = mkdtempSync(join(tmpdir(), "reprise-english-"));
  });
  afterEach(() => rmSync(tree, { recursive: true }));

  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  };
  const lint = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "build/english.mjs"), ...args], { encoding: "utf8" });
    return { status, lines: stderr.split("\n").filter((line) => line !== ""), stdout };
  };

  test("lists each fault of a tree, and fails", () => {
    write("README.md", "It is no step.\n\nIt waits immediately.\n");
    write("docs/data/a.md", "It waits at once.\n");
    write("bench/cases/a.mjs", "// It goes on.\n");
    write("embed/a.py", "# It goes on.\na = 'it goes on'\n");
    const { status, lines, stdout } = lint(tree);
    expect(status).toBe(1);
    expect(lines).toEqual([
      expect.stringMatching(/^README\.md:1: `is no`: is not a ….* {2}\[.*It is no step/),
      expect.stringMatching(/^bench\/cases\/a\.mjs:1: `goes on`: continues {2}\[.*It goes on/),
      expect.stringMatching(/^docs\/data\/a\.md:1: `at once`/),
      expect.stringMatching(/^embed\/a\.py:1: `goes on`/),
      expect.stringMatching(/^embed\/a\.py:2: `goes on`/),
    ]);
    expect(stdout).toBe("english: 5 faults in 4 files\n");
  });

  test("accepts a tree without habits, and ignores data and generated files", () => {
    write("README.md", "It is not a step.\n");
    write("dist/a.md", "It is no step.\n");
    write("test/data/a.md", "It is no step.\n");
    write("docs/a.txt", "It is no step.\n");
    expect(lint(tree)).toEqual({ status: 0, lines: [], stdout: "english: 0 faults in 0 files\n" });
  });

  test("checks only files whose paths contain one of the words", () => {
    write("README.md", "It is no step.\n");
    write("docs/a.md", "It waits at once.\n");
    expect(lint(tree, "--", "READ", "page/")).toMatchObject({ status: 1, lines: [expect.stringMatching(/^README\.md:1: /)] });
    expect(lint(tree, "--", "page/")).toMatchObject({ status: 0, lines: [] });
  });

  // `npm run check` also does this.
  test.runIf(whole)("finds nothing in the repository", () => {
    expect(lint(root)).toMatchObject({ status: 0, lines: [] });
  });
});
