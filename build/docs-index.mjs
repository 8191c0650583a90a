// Reads the groups of pages in docs/README.md, which are the navigation of the generated site.
import { posix } from "node:path";

/** The page that lists the groups, without `.md`. */
export const INDEX = "docs/README";
/** The group of pages that the index does not list. */
export const REST = "For visitors and maintainers";

/** Returns the first heading of a page. @param {string} text @returns {string | undefined} */
export function titleOf(text) {
  return text.match(/^# (.+)$/m)?.[1].replaceAll("`", "");
}

/** Returns the groups of the index with the paths of their links, each path once. @param {string} index @returns {{ title: string, paths: string[] }[]} */
export function groupsOf(index) {
  const seen = new Set();
  return index
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const links = [...part.matchAll(/\]\(([^)#]+\.md)(?:#[^)]*)?\)/g)].map(([, link]) => posix.join(posix.dirname(INDEX), link).replace(/\.md$/, ""));
      const paths = links.filter((path) => !seen.has(path) && seen.add(path));
      return { title: part.slice(0, part.indexOf("\n")), paths };
    });
}
