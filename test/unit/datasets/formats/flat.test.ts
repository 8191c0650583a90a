/** Tests flat tables with damaged flags: the episodes before the damage must be read. */
import { expect, it } from "vitest";
import { Column } from "../../../../src/datasets/formats/columns/column.ts";
import { flatEpisodes } from "../../../../src/datasets/formats/columns/flat.ts";

const ROWS = 20_000;
const DAMAGED = 15_000;

const column = (path: string, dtype: "f32" | "bool", values: ArrayLike<number>) =>
  new Column({
    path,
    leaf: { dtype, shape: [] },
    rows: ROWS,
    rowBytes: 4,
    read: async (from, to) => {
      if (dtype === "bool" && to > DAMAGED) throw new Error("damaged");
      const part = Array.from({ length: to - from }, (_, i) => values[from + i] as number);
      return dtype === "bool" ? Uint8Array.from(part) : Float32Array.from(part);
    },
  });

it("flatEpisodes returns the episodes before damaged flags", async () => {
  const values = Float32Array.from({ length: ROWS }, (_, i) => i);
  const terminals = Uint8Array.from({ length: ROWS }, (_, i) => Number(i % 5000 === 4999));
  const [observation, action, reward] = ["observation", "action", "reward"].map((name) => column(name, "f32", values)) as [Column, Column, Column];
  const table = { file: "a", transition: { observation, action, reward }, terminals: column("terminals", "bool", terminals) };
  const lengths: number[] = [];
  const read = async () => {
    for await (const { steps } of flatEpisodes(table, { finalObservation: "none", maxBytes: 1e9 })) {
      expect(steps.at(0)).toMatchObject({ reward: 5000 * lengths.length });
      lengths.push(steps.length);
    }
  };
  await expect(read()).rejects.toThrow("damaged");
  // The third episode ends in the damaged block.
  expect(lengths).toEqual([5000, 5000]);
});
