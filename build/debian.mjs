// Installs programs from Debian packages. This needs Debian and root; on other systems, users install the programs themselves.
import { spawnSync } from "node:child_process";

/** Installs packages. Reports each package that it could not install, and continues, because only the steps that need it fail. */
export function installDebian(names) {
  if (names.length === 0) return;
  const apt = (...args) => spawnSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"] }).status === 0;
  const updated = apt("update");
  for (const name of names) {
    if (updated && apt("install", "-y", "--no-install-recommends", name)) continue;
    console.error(`${name} could not be installed, because that needs Debian and root. Install it by hand, and put it on the PATH.`);
  }
}
