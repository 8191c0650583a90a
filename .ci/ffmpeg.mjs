// Installs ffmpeg, which the command line needs to cut films. This requires Debian and root. Without ffmpeg, `npm test` skips the tests that need it.
import { ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { installDebian } from "../build/debian.mjs";
import { checks } from "./checks.mjs";

const isInstalled = () => spawnSync("ffmpeg", ["-version"], { stdio: "ignore" }).status === 0;

await checks({
  "ffmpeg is installed"() {
    if (!isInstalled()) installDebian(["ffmpeg"]);
    ok(isInstalled(), "ffmpeg is not on the PATH");
  },
});
