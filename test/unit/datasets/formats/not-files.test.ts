/** Tests target paths that are not plain files: links are followed or replaced, and pipes are rejected and left intact. */
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, lstatSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { writeJsonl, writeNpz, writeTfds } from "../../../../src/datasets/rlds/index.ts";
import { f32 } from "../../../../src/index.ts";
import { ReplayBuffer } from "../../../../src/pfrl/index.ts";
import { loadTfrecordDataset, TFRecordObserver } from "../../../../src/tf-agents/index.ts";
import { everything } from "../../../support/rlds-data.ts";

const folder = mkdtempSync(join(tmpdir(), "not-files-"));
const at = (name: string) => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function pipeAt(name: string): string {
  execFileSync("mkfifo", [at(name)]);
  return at(name);
}

function isPipe(path: string): boolean {
  return lstatSync(path).isFIFO();
}

async function record(path: string, count: number): Promise<void> {
  const observer = new TFRecordObserver(path, f32(), { pyMode: true });
  for (let i = 0; i < count; i++) observer(i);
  await observer.close();
}

async function countIn(path: string): Promise<number> {
  let count = 0;
  for await (const _ of await loadTfrecordDataset([path])) count++;
  return count;
}

describe("TFRecordObserver", () => {
  it("writes through links, even a dangling one, as TensorFlow does", async () => {
    for (const ending of ["", ".spec"]) symlinkSync(at(`elsewhere${ending}`), at(`link${ending}`));
    for (const count of [1000, 3]) {
      await record(at("link"), count);
      for (const ending of ["", ".spec"]) expect(lstatSync(at(`link${ending}`)).isSymbolicLink()).toBe(true);
      expect(await countIn(at("elsewhere"))).toBe(count);
    }
  });

  it("truncates an existing file, which keeps its inode and hard links", async () => {
    await record(at("first"), 1000);
    for (const ending of ["", ".spec"]) linkSync(at(`first${ending}`), at(`second${ending}`));
    const { ino } = statSync(at("first"));
    await record(at("first"), 2);
    expect(statSync(at("first")).ino).toBe(ino);
    expect(await countIn(at("second"))).toBe(2);
  });

  it.each([
    ["", ".spec"],
    [".spec", ""],
  ])("rejects a pipe with the suffix %j and a link to it, and changes nothing", async (piped, other) => {
    const base = `piped${piped}`;
    const pipe = pipeAt(`${base}${piped}`);
    writeFileSync(at(`${base}${other}`), "kept");
    symlinkSync(pipe, at(`${base}-link${piped}`));
    for (const path of [at(base), at(`${base}-link`)]) {
      const observer = new TFRecordObserver(path, f32(), { pyMode: true });
      await expect(observer.close()).rejects.toMatchObject({
        name: "RldsError",
        code: "IO",
        file: `${path}${piped}`,
        message: expect.stringContaining("is a pipe, a device or a folder"),
      });
    }
    expect(isPipe(pipe)).toBe(true);
    expect(readFileSync(at(`${base}${other}`), "utf8")).toBe("kept");
    expect(existsSync(at(`${base}-link${other}`))).toBe(false);
  });
});

describe("writers that replace a file after the new one is complete", () => {
  it("reject a pipe even with overwrite, and leave it intact", async () => {
    const files = [
      [pipeAt("steps.jsonl"), (path: string) => writeJsonl(everything(), path, { overwrite: true })],
      [pipeAt("steps.npz"), (path: string) => writeNpz(everything(), path, { overwrite: true })],
    ] as const;
    for (const [path, write] of files) {
      await expect(write(path)).rejects.toMatchObject({ code: "IO", message: expect.stringContaining("is a pipe or a device") });
      expect(isPipe(path)).toBe(true);
    }
    await writeTfds(everything(), at("tfds"), { name: "made" });
    const info = at("tfds/made/1.0.0/dataset_info.json");
    const path = existsSync(info) ? info : at("tfds/1.0.0/dataset_info.json");
    rmSync(path);
    execFileSync("mkfifo", [path]);
    await expect(writeTfds(everything(), at("tfds"), { name: "made", overwrite: true })).rejects.toMatchObject({ code: "IO" });
    expect(isPipe(path)).toBe(true);
  });

  it("replace a link with a new file, and leave its target unchanged", async () => {
    writeFileSync(at("target.jsonl"), "kept");
    symlinkSync(at("target.jsonl"), at("linked.jsonl"));
    await writeJsonl(everything(), at("linked.jsonl"), { overwrite: true });
    expect(lstatSync(at("linked.jsonl")).isFile()).toBe(true);
    expect(readFileSync(at("target.jsonl"), "utf8")).toBe("kept");
  });

  it("include save of reprise/pfrl, which rejects a pipe", async () => {
    const pipe = pipeAt("buffer.rpr");
    const buffer = new ReplayBuffer(10);
    buffer.append({ state: [1], action: 0, reward: 1, nextState: [2], isStateTerminal: false });
    expect(() => buffer.save(pipe)).toThrow(/it is a pipe or a device, not a file/);
    expect(isPipe(pipe)).toBe(true);
    expect(existsSync(`${pipe}.part`)).toBe(false);
  });
});
