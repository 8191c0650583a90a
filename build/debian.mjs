// Programs that come with packages of Debian's: installing them takes Debian, and root; elsewhere it is left to the user.
import { spawnSync } from "node:child_process";

/** @param names packages; what cannot be installed is said, and left to whoever needs it */
export function installDebian(names) {
  if (names.length === 0) return;
  const apt = (...args) => spawnSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"] }).status === 0;
  const updated = apt("update");
  for (const name of names) {
    if (updated && apt("install", "-y", "--no-install-recommends", name)) continue;
    console.error(`${name} could not be installed: that takes Debian, and root. Install it by hand, so that it is on the PATH.`);
  }
}
