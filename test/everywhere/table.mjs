// The table of docs/runtimes.md, made by the run itself.
const BEGIN = "<!-- rows: made by npm run everywhere -- --write -->\n";
const END = "<!-- end of rows -->\n";

/** The page with the table of these rows. */
export function written(page, rows) {
  const [head, rest] = page.split(BEGIN);
  const lines = rows.map(({ where, version, what = "everything" }) => `| ${where} | ${version} | ${what} |`);
  return `${head}${BEGIN}\n| where | version | what ran |\n|---|---|---|\n${lines.join("\n")}\n\n${END}${rest.split(END)[1]}`;
}

/** Where the rows of the page's table ran, in its order. */
export function namesOf(page) {
  const lines = page.split(BEGIN)[1].split(END)[0].split("\n");
  return lines
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split(" | ")[0].slice(2))
    .slice(1);
}
