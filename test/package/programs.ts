/** Extracts the programs in README.md, CONTRIBUTING.md and docs/, unchanged. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/core.ts";

const files = ["README.md", "CONTRIBUTING.md", ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((file) => `docs/${file}`)];
const texts = files.flatMap((path) => (/\.(md|js)$/.test(path) ? [{ path, text: readFileSync(join(root, path), "utf8") }] : []));
export const pages = texts.filter(({ path }) => path.endsWith(".md"));
/** The programs that are stored as files. */
export const recipes = texts.filter(({ path }) => path.endsWith(".js"));

/** The page whose programs connect to a Reverb server, some in Python. test/interop runs them. */
export const SERVER_PAGE = "docs/guides/reverb-server.md";

/** Returns each fenced program with the page and heading above it. */
export function programs(language: "js" | "ts"): { readonly path: string; readonly heading: string; readonly code: string }[] {
  return pages.flatMap(({ path, text }) =>
    text.split(/^## /m).flatMap((part) => {
      const heading = part.slice(0, part.indexOf("\n"));
      const fences = part.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
      return [...fences].map((match) => ({ path, heading, code: match[1] as string }));
    }),
  );
}
