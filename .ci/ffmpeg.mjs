// Installs ffmpeg, with which the command line cuts films, on Debian as root. Without ffmpeg, npm test skips the tests that need it.
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
