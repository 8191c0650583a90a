// Finds the other runtimes that tests run in, and installs missing ones. Deno, Bun and workerd are npm packages in a separate folder, because no user needs
// them. Chromium and Firefox come from the system.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installDebian } from "./debian.mjs";
import { npm, root, step } from "./steps.mjs";

const TOOLS = join(root, "build/runtimes");
const FIREFOX = ["firefox-esr", "firefox"];
const CHROMIUM = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** Options with which tests start Chromium: it can run as root, is headless and makes no requests of its own. */
export const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The Debian packages of browsers. */
const DEBIAN = { chromium: "chromium", firefox: "firefox-esr" };

/** Returns the program of each runtime, or undefined if it is not installed. */
export function runtimes() {
  return { node: process.execPath, deno: find(["deno"]), bun: find(["bun"]), workerd: find(["workerd"]), chromium: find(CHROMIUM), firefox: find(FIREFOX) };
}

/** Finds an installed runtime, first in the folder of the project, then on the PATH. */
function find(names) {
  const folders = [join(TOOLS, "node_modules/.bin"), ...(process.env.PATH ?? "").split(delimiter)];
  const endings = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  return folders.flatMap((folder) => names.flatMap((name) => endings.map((ending) => join(folder, name + ending)))).find((file) => existsSync(file));
}

/** Installs missing runtimes. Browsers come from Debian packages, which require root. On other systems, users install them. */
export async function installRuntimes() {
  // There is no lock file: Deno has a package for each platform, and `npm ci` rejects a lock file if the registry lacks one of these packages.
  await step("Deno, Bun and workerd", join(TOOLS, "node_modules/.reprise-stamp"), [join(TOOLS, "package.json")], () =>
    npm(["install", "--no-package-lock"], TOOLS),
  );
  const here = runtimes();
  const missing = Object.entries(DEBIAN).flatMap(([name, aptName]) => (here[name] === undefined ? [aptName] : []));
  installDebian(missing);
}
