/** Tests sinks that fail while TF-Agents files are written: the right error is reported, and nothing stays open. */
import { describe, expect, it } from "vitest";
import type { SinkFolder } from "../../../../../src/datasets/formats/sinks/sink.ts";
import { f32 } from "../../../../../src/index.ts";
import { TFRecordObserver } from "../../../../../src/tf-agents/index.ts";

/** Returns a sink in which the named calls fail, such as `write x.spec`. */
function failingSink(...failing: readonly string[]): { readonly sink: SinkFolder; readonly open: Set<string>; readonly locks: Set<string> } {
  const open = new Set<string>();
  const locks = new Set<string>();
  const check = (call: string) => {
    if (failing.includes(call)) throw new Error(`${call} failed`);
  };
  const sink: SinkFolder = {
    name: "failing",
    list: async () => [],
    async create(path) {
      check(`create ${path}`);
      open.add(path);
      return {
        async write() {
          check(`write ${path}`);
        },
        async close() {
          open.delete(path);
          check(`close ${path}`);
        },
      };
    },
    async lock(path) {
      check("lock");
      locks.add(path);
      return async () => {
        locks.delete(path);
        check("unlock");
      };
    },
    rename: async () => {},
    remove: async (path) => check(`remove ${path}`),
  };
  return { sink, open, locks };
}

describe("a failed sink", () => {
  it.each([
    ["lock"],
    ["remove x"],
    ["create x"],
    ["create x.spec"],
    ["write x.spec"],
    ["close x.spec"],
    ["write x"],
    ["close x"],
    ["unlock"],
    // The first failure causes the others, so it is the one that is reported.
    ["write x.spec", "close x.spec", "close x", "unlock"],
    ["create x.spec", "close x", "unlock"],
    ["write x", "close x", "unlock"],
    ["close x", "unlock"],
  ])("at %s leaves nothing open, and close rejects with the first failure", async (...failing) => {
    const { sink, open, locks } = failingSink(...failing);
    const observer = new TFRecordObserver("x", f32(), { pyMode: true, to: sink });
    observer(1);
    await expect(observer.close()).rejects.toMatchObject({ code: "IO", message: expect.stringContaining(`${failing[0]} failed`) });
    await expect(observer.close()).rejects.toMatchObject({ message: expect.stringContaining(`${failing[0]} failed`) });
    expect([...open, ...locks]).toEqual([]);
  });

  it("during the write of the spec makes the next call throw", async () => {
    const { sink } = failingSink("write x.spec");
    const observer = new TFRecordObserver("x", f32(), { pyMode: true, to: sink });
    await observer.flush().catch(() => {});
    expect(() => observer(1)).toThrow(expect.objectContaining({ code: "IO", file: "x.spec", message: expect.stringContaining("write x.spec failed") }));
    await observer.close().catch(() => {});
  });
});
