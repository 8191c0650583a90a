// The groups of pages in docs/README.md, which the generated site has as its navigation.
import { posix } from "node:path";

/** The page that has the groups, without `.md`. */
export const INDEX = "docs/README";
/** The group of pages that the index does not name. */
export const REST = "For visitors and maintainers";

/** The first heading of a page. @param {string} text @returns {string | undefined} */
export function titleOf(text) {
  return text.match(/^# (.+)$/m)?.[1].replaceAll("`", "");
}

/**
 * The groups of the index with the paths that their links name, each path once.
 * @param {string} index
 * @returns {{ title: string, paths: string[] }[]}
 */
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
