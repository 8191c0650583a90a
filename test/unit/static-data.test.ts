/** The core's static data stands behind the header, in every build. */
import { expect, test } from "vitest";
import { coreOf, type Target } from "../support/core.ts";

const HEADER_BYTES = 1024;

test.each<Target>(["release", "scalar", "debug"])("the tables of the checksum leave the header alone (%s)", (target) => {
  const x = coreOf(target);
  const header = () => new Uint8Array(x.memory.buffer).slice(0, HEADER_BYTES);
  const at = x.arena_alloc(9);
  const before = header();
  expect(x.crc32c(0, at, 9)).not.toBe(0);
  expect(header()).toEqual(before);
  expect(x.arena_check()).toBe(0);
});
