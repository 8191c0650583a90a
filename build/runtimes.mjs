// Finds the other runtimes that tests run in, and installs missing ones. Deno, Bun and workerd are npm packages in a folder of their own, since no user needs them; Chromium
// and Firefox come from the system.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installDebian } from "./debian.mjs";
import { npm, root, step } from "./steps.mjs";

const TOOLS = join(root, "build/runtimes");
const FIREFOX = ["firefox-esr", "firefox"];
const CHROMIUM = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** How a test starts Chromium: it runs as root, shows nothing and asks for nothing by itself. */
export const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The packages of Debian that browsers come with. */
const DEBIAN = { chromium: "chromium", firefox: "firefox-esr" };

/** The program of each runtime; undefined where it is not installed. */
export function runtimes() {
  return { node: process.execPath, deno: find(["deno"]), bun: find(["bun"]), workerd: find(["workerd"]), chromium: find(CHROMIUM), firefox: find(FIREFOX) };
}

/** What an installed runtime would be, first in the project's own folder, then on the PATH. */
function find(names) {
  const folders = [join(TOOLS, "node_modules/.bin"), ...(process.env.PATH ?? "").split(delimiter)];
  const endings = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  return folders.flatMap((folder) => names.flatMap((name) => endings.map((ending) => join(folder, name + ending)))).find((file) => existsSync(file));
}

/** Installs what is missing. Browsers come from Debian's packages, which takes root; elsewhere they are left to the user. */
export async function installRuntimes() {
  // Without a lock file: Deno is a package a platform, and a registry that lacks one of them makes no lock that `npm ci` takes.
  await step("Deno, Bun and workerd", join(TOOLS, "node_modules/.reprise-stamp"), [join(TOOLS, "package.json")], () =>
    npm(["install", "--no-package-lock"], TOOLS),
  );
  const here = runtimes();
  const missing = Object.entries(DEBIAN).flatMap(([name, aptName]) => (here[name] === undefined ? [aptName] : []));
  installDebian(missing);
}
