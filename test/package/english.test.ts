/** The lint of the style sheet: what it finds in each kind of text, what it leaves, and how allowances shrink. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HABITS, habitsIn } from "../../build/english.mjs";
import { root } from "../support/core.ts";
import { whole } from "../support/size.ts";

/** Sentences with a habit, and sentences that only look like one, by habit. */
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
  test("has sentences here", () => {
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
  test("of code are comments and literals, over lines and within templates", () => {
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

  test("of tests are comments only", () => {
    const source = '// It is no step.\nexpect(a).toBe("it is no step");';
    expect(habits("test/unit/a.test.ts", source)).toEqual(["1 `is no`"]);
    expect(habits("src/a.ts", source)).toEqual(["1 `is no`", "2 `is no`"]);
  });

  test("of Python, Lua and C are theirs", () => {
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

  test("of Markdown are paragraphs, items, headings and cells, without code and addresses", () => {
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

describe("allowances", () => {
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
  const allowed = () => JSON.parse(readFileSync(join(tree, "build/english-allowed.json"), "utf8"));

  test("may only shrink", () => {
    write("README.md", "It is no step.\n\nIt waits at once.\n");
    write("embed/a.py", "# It goes on.\n");
    write("build/english-allowed.json", '{ "README.md": 2, "embed/a.py": 1 }');
    expect(lint(tree)).toMatchObject({ status: 0, lines: [] });

    // One more than its allowance: all are named, as nobody knows which one is new.
    write("embed/a.py", "# It goes on.\na = 'it goes on'\n");
    const more = lint(tree);
    expect(more.status).toBe(1);
    expect(more.lines).toEqual([
      "embed/a.py: 2 places, and 1 are allowed; take one of these out",
      expect.stringMatching(/^embed\/a\.py:1: `goes on`: continues {2}\[.*It goes on/),
      expect.stringMatching(/^embed\/a\.py:2: `goes on`: continues {2}\[.*it goes on/),
    ]);
    expect(lint(tree, "--write")).toMatchObject({ status: 1, lines: more.lines });
    expect(allowed()).toEqual({ "README.md": 2, "embed/a.py": 1 });

    // Fewer: the allowance has to follow. A file that is gone has none.
    write("README.md", "It is no step.\n");
    rmSync(join(tree, "embed/a.py"));
    const fewer = lint(tree);
    expect(fewer.status).toBe(1);
    expect(fewer.lines).toEqual([
      "README.md: 2 places are allowed, and only 1 are left: run node build/english.mjs --write",
      "embed/a.py: 1 places are allowed, and only 0 are left: run node build/english.mjs --write",
    ]);
    expect(lint(tree, "--write")).toMatchObject({ status: 0, lines: [] });
    expect(allowed()).toEqual({ "README.md": 1 });
    // Moved: the allowance goes with it, and no further.
    write("docs/a.md", "It is no step.\n");
    write("docs/b.md", "It is no step.\n");
    rmSync(join(tree, "README.md"));
    expect(lint(tree, "--write")).toMatchObject({ status: 1, lines: [expect.stringContaining("docs/b.md:1: `is no`")] });
    expect(allowed()).toEqual({ "docs/a.md": 1 });
    rmSync(join(tree, "docs"), { recursive: true });
    write("README.md", "It is no step.\n");
    expect(lint(tree, "--", "READ")).toMatchObject({ status: 0, stdout: expect.stringMatching(/^README\.md:1: `is no`: .*\n$/) });
    expect(lint(tree, "--", "page/").stdout).toBe("");
  });

  // `npm run check` runs it, too.
  test.runIf(whole)("hold in the repository", () => {
    const { status, lines } = lint(root);
    expect(lines).toEqual([]);
    expect(status).toBe(0);
  });
});
