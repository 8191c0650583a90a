/** Tests concurrent writers to the same target: one of them writes, and the other one gets an error. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openTfds, type Sink, writeJsonl, writeParquet, writeTfds } from "../../../../src/datasets/rlds/index.ts";
import { nodeModules } from "../../../../src/files/builtins.ts";
import { selfOf } from "../../../../src/files/node-holder.ts";
import { all, everything } from "../../../support/rlds-data.ts";

const root = mkdtempSync(join(tmpdir(), "reprise-writers-"));
afterAll(() => rmSync(root, { recursive: true }));
const fresh = () => mkdtempSync(join(root, "d-"));

describe.each<[string, () => Sink]>([
  ["a folder of the system", fresh],
  ["a Map", () => new Map<string, Uint8Array>()],
])("writers into %s", (_, make) => {
  it("one of two concurrent writers finishes, and the other gets an IO error", async () => {
    for (let round = 0; round < 12; round++) {
      const to = make();
      const both = await Promise.allSettled(["train", "test"].map((split) => writeTfds(everything(), to, { name: "made", split })));
      const done = ["train", "test"].filter((_, i) => both[i]?.status === "fulfilled");
      expect(done.length).toBe(1);
      for (const result of both)
        if (result.status === "rejected")
          expect(result.reason).toMatchObject({ code: "IO", message: expect.stringMatching(/another writer .*is already writing to this path/) });
      const reader = await openTfds(to as string, { split: done[0] as string });
      expect(reader.splits).toEqual(done);
      expect(await all(reader)).toHaveLength(4);
      // The rejected writer can write after the first one has finished.
      await writeTfds(everything(), to, { name: "made", split: done[0] === "train" ? "test" : "train" });
      expect((await openTfds(to as string, { split: "all" })).splits).toHaveLength(2);
    }
  });

  it("single files with different names do not conflict", async () => {
    const to = make();
    const path = (name: string) => (typeof to === "string" ? join(to, name) : to);
    await Promise.all([writeJsonl(everything(), path("a.jsonl")), typeof to === "string" ? writeParquet(everything(), path("b.parquet")) : undefined]);
  });
});

it("files of a killed writer are removed, and the error names a lock from another host", async () => {
  const to = fresh();
  const folder = join(to, "made", "1.0.0");
  mkdirSync(folder, { recursive: true });
  const child = spawn(process.execPath, ["-e", ""]);
  await new Promise((resolve) => child.on("close", resolve));
  const self = selfOf(nodeModules());
  writeFileSync(join(folder, ".incomplete-lock"), JSON.stringify({ ...self, pid: child.pid, start: "1", thread: `${child.pid}` }));
  writeFileSync(join(folder, ".incomplete-0"), "half of it");
  // It is unknown whether a process on another machine still exists, so the message names the lock file.
  const elsewhere = join(fresh(), "a.jsonl");
  writeFileSync(join(elsewhere, "..", ".incomplete-a.jsonl-lock"), JSON.stringify({ pid: 1, host: "elsewhere" }));
  await expect(writeJsonl(everything(), elsewhere)).rejects.toMatchObject({
    code: "IO",
    message: expect.stringMatching(/process 1 of elsewhere .*remove \.incomplete-a\.jsonl-lock/),
  });
  await writeTfds(everything(), to, { name: "made" });
  expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
});

it("links planted at the names of new files are not followed", async () => {
  const to = fresh();
  const victim = join(fresh(), "mine.txt");
  writeFileSync(victim, "mine");
  for (const name of [".incomplete-0", ".incomplete-1", ".incomplete-lock", "part-00000.parquet"]) symlinkSync(victim, join(to, name));
  await writeParquet(everything(), to, { overwrite: true }).catch(({ code }) => expect(code).toBe("IO"));
  expect(readFileSync(victim, "utf8")).toBe("mine");
});

it("a failed write leaves no folder that it created", async () => {
  const to = join(root, "none");
  await expect(writeTfds([], to, { name: "made" })).rejects.toMatchObject({ code: "EMPTY" });
  expect(readdirSync(root)).not.toContain("none");
});
