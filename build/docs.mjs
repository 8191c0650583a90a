// Builds dist/docs: the documents and the reference as one folder of pages with a search, without dead links.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { subpaths } from "./manifest.mjs";
import { execute, files, npm, root, step } from "./step.mjs";

const TOOLS = join(root, "build/tools");
const OUT = join(root, "dist/docs");

/** Installs the tools for documents and releases. */
export async function tools() {
  await step("tools", join(TOOLS, "node_modules/.reprise-stamp"), [join(TOOLS, "package.json")], () => npm(["install", "--no-package-lock"], TOOLS));
}

/** Builds the folder. @throws Error that lists each dead link */
export async function docs() {
  await tools();
  const entries = subpaths().flatMap(({ source }) => ["--entryPoints", source]);
  execute(process.execPath, [join(TOOLS, "node_modules/typedoc/bin/typedoc"), "--options", "build/typedoc.json", ...entries]);
  const faults = broken(OUT);
  if (faults.length > 0) throw new Error(`links that lead nowhere:\n${faults.join("\n")}`);
  console.log(`${relative(root, OUT)}/index.html: ${files(OUT, ".html").length} pages, all links inside checked`);
}

/** Returns the links in a folder's pages that lead to missing files, or to missing parts of a page. */
export function broken(folder) {
  // The folder media/ contains files that pages link to, unchanged.
  const pages = new Map(
    files(folder, ".html")
      .filter((file) => !file.includes("/media/"))
      .map((file) => [file, readFileSync(file, "utf8")]),
  );
  const parts = new Map();
  const hasPart = (file, part) => {
    if (!parts.has(file)) parts.set(file, new Set([...pages.get(file).matchAll(/\b(?:id|name)="([^"]+)"/g)].map(([, id]) => id)));
    return parts.get(file).has(part);
  };
  const faults = [];
  for (const [file, text] of pages) {
    for (const [, link] of text.matchAll(/\b(?:href|src)="([^"]+)"/g)) {
      if (/^([a-z]+:|\/\/)/.test(link)) continue;
      const [path, part] = link.replaceAll("&amp;", "&").split("#").map(decodeURIComponent);
      const target = path === "" ? file : join(dirname(file), path);
      const there = existsSync(target) && (part === undefined || part === "" || !pages.has(target) || hasPart(target, part));
      if (!there) faults.push(`${relative(folder, file)}: ${link}`);
    }
  }
  return faults;
}
