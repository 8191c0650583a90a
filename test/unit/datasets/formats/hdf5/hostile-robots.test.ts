/** Tests robot HDF5 files with cyclic, dangling or too many links: they must cause an error within limits of time and memory. */
import { expect, it } from "vitest";
import { openRlds } from "../../../../../src/datasets/formats/open.ts";
import type { RldsReader } from "../../../../../src/datasets/formats/reader.ts";
import { all } from "../../../../support/columns.ts";
import { dataFolder } from "../../rlds/data.ts";

/** The timeout in milliseconds, which only stops a read that hangs: visiting the 4096 groups of `paths` takes more than a minute on a busy machine. */
const TIMEOUT_MS = 600_000;
const path = (name: string) => dataFolder(`hostile/${name}.hdf5`);

it.each<[string, "UNSUPPORTED" | "CORRUPT", RegExp]>([
  ["circle_of_observations", "UNSUPPORTED", /nested more than 16 levels deep at \/data\/demo_0\/obs\/again/],
  ["circle_of_names", "CORRUPT", /cannot read .*obs\/again/],
  ["nowhere", "UNSUPPORTED", /obs\/gone is a broken link/],
  ["outside", "UNSUPPORTED", /obs\/passwd is a broken link/],
  ["paths", "UNSUPPORTED", /the links in .* lead to more than 4096 groups and datasets/],
  ["rows", "CORRUPT", /an episode takes \d+ bytes, more than the \d+ that maxBytes allows. Increase maxBytes/],
  ["wide", "CORRUPT", /needs 4000000000 bytes/],
])(
  "%s",
  async (name, code, message) => {
    const read = async () => {
      const reader = (await openRlds(path(name))) as RldsReader;
      try {
        await all(reader);
      } finally {
        await reader.close();
      }
    };
    await expect(read()).rejects.toMatchObject({ name: "RldsError", code, file: `${name}.hdf5`, message: expect.stringMatching(message) });
  },
  TIMEOUT_MS,
);

it("a cycle of metadata is reported as unread, and the episode is read", async () => {
  const reader = (await openRlds(path("circle_of_metadata"))) as RldsReader;
  expect([(await all(reader)).length, reader.about.unread]).toEqual([1, ["/data/demo_0/info"]]);
  await reader.close();
});

it("a mask that is too large is rejected only if its split is read", async () => {
  const reader = (await openRlds(path("mask"))) as RldsReader;
  expect(await all(reader)).toHaveLength(1);
  await reader.close();
  await expect(openRlds(path("mask"), { split: "train" })).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringMatching(/needs \d+ bytes, more/),
  });
});
