// Arranges Typedoc's navigation for readers: the groups and the order of docs/README.md, then the entries of the package with their members by kind. Also adds
// a skip link to the navigation, which comes after the text. This file is in this folder because it imports typedoc.
import { readFileSync } from "node:fs";
import { Converter, JSX, Renderer } from "typedoc";
import { groupsOf, INDEX, REST, titleOf } from "../docs-index.mjs";

/** Entries whose folder in src/ has another name than their subpath. */
const ENTRIES = { index: "reprise", "tf-agents": "reprise/agents", recorder: "reprise/record", "datasets/rlds": "reprise/rlds" };

export function load(app) {
  /** Each document by its path without `.md`. */
  const documents = new Map();
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, document) => documents.set(document.name, document));

  app.renderer.on(Renderer.EVENT_BEGIN, () => {
    // The names are changed only after addresses are computed, so that addresses match the file names.
    for (const document of documents.values()) document.name = titleOf(document.content.map(({ text }) => text).join("")) ?? document.name;
    const { theme } = app.renderer;
    const build = theme.buildNavigation.bind(theme);
    const entry = (document) => ({ text: document.name, path: theme.router.getFullUrl(document), kind: document.kind, class: "" });
    theme.buildNavigation = (project) => {
      const groups = groupsOf(readFileSync(`${INDEX}.md`, "utf8")).map(({ title, paths }) => ({ title, paths: paths.filter((path) => documents.has(path)) }));
      const named = new Set(groups.flatMap(({ paths }) => paths));
      const rest = [...documents.keys()].filter((path) => !named.has(path) && path !== INDEX);
      groups.find(({ title }) => title === REST).paths.push(...rest);
      const modules = build(project).find(({ text }) => text === "Modules").children;
      return [
        entry(documents.get(INDEX)),
        ...groups.map(({ title, paths }) => ({ text: title, children: paths.map((path) => entry(documents.get(path))) })),
        { text: "Entries of the package", children: modules.map((module) => ({ ...module, text: ENTRIES[module.text] ?? `reprise/${module.text}` })) },
      ];
    };
  });

  app.renderer.hooks.on("body.begin", () => JSX.createElement("a", { href: "#navigation", class: "skip" }, "Skip to the navigation"));
  app.renderer.hooks.on("sidebar.begin", () => JSX.createElement("span", { id: "navigation", tabIndex: -1 }));
}
