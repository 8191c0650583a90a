// Creates the table of docs/reference/runtimes.md from the results of the run.
const BEGIN = "<!-- rows: made by npm run everywhere -- --write -->\n";
const END = "<!-- end of rows -->\n";

const lineOf = ({ where, version, short, what = short ? "the short suite" : "everything" }) => `| ${where} | ${version} | ${what} |`;

/** Returns the page with a table of `rows` instead of its previous table. */
export function written(page, rows) {
  const [head, rest] = page.split(BEGIN);
  return `${head}${BEGIN}\n| where | version | what ran |\n|---|---|---|\n${rows.map(lineOf).join("\n")}\n\n${END}${rest.split(END)[1]}`;
}

/** Returns whether the page has these rows. Ignores the versions of software that is installed on the machine. */
export function compared(page, rows) {
  const [, , ...lines] = page
    .split(BEGIN)[1]
    .split(END)[0]
    .split("\n")
    .filter((line) => line.startsWith("|"));
  const same = (row, line) => lineOf(row.found ? { ...row, version: line?.split(" | ")[1] } : row) === line;
  return lines.length === rows.length && rows.every((row, i) => same(row, lines[i]));
}
