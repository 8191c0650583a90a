/** Checks that reprise.h matches the exports of embed.wasm and the layouts that they use. `npm run test:c` compiles the header. */
import { expect, test } from "vitest";
import { header } from "../../embed/c/header.mjs";
import { DTYPES } from "../../src/schema/dtype.ts";
import { embedModule } from "./host.ts";
import { CODES } from "./operation.ts";

const text = header();

test("reprise.h declares each exported call except input and writer", () => {
  const exported = WebAssembly.Module.exports(embedModule("embed")).flatMap(({ name }) => (name.startsWith("replay_") ? [name.slice("replay_".length)] : []));
  const declared = [...text.matchAll(/ \*?reprise_(\w+)\(/g)].map(([, name]) => name as string);
  expect(declared).toEqual(expect.arrayContaining(exported.filter((name) => name !== "input" && name !== "writer")));
  // The declarations that reprise.h adds to the exports.
  expect(declared.filter((name) => !exported.includes(name)).sort()).toEqual(["copy", "find", "put"]);
});

test("reprise.h declares handles, addresses and numbers with their C types", () => {
  expect(text).toContain("reprise_replay *reprise_create(const char *text, size_t bytes);");
  expect(text).toContain("int32_t reprise_sample(reprise_replay *replay, uint32_t view, uint32_t n, double beta);");
  expect(text).toContain("int32_t reprise_update(reprise_replay *replay, uint32_t table, const double *keys, const double *priorities, uint32_t n);");
});

test("codes and dtypes have the same numbers as in TypeScript", () => {
  const constants = new Map([...text.matchAll(/^ {2}REPRISE_(\w+) = (-?\d+),$/gm)].map(([, name, value]) => [name as string, Number(value)]));
  expect(Object.fromEntries([...constants].filter(([, value]) => value < 0))).toEqual(CODES);
  const dtypes = Object.entries(DTYPES).map(([name, { code }]) => [name.toUpperCase(), code] as const);
  expect([...constants].filter(([, value]) => value >= 0)).toEqual([...dtypes, ["TEXT", dtypes.length]]);
});
