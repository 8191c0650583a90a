/** Tests errors of items: `flush` must report all errors except those that a promise has already reported. */
import { describe, expect, it } from "vitest";
import { ItemPromise } from "../../../src/tables/item-promise.ts";

/** Returns the promise of an item, and the function that rejects the promise. */
function item() {
  let reject = (_reason: unknown): void => {};
  const sent = new Promise<void>((_, refuse) => {
    reject = refuse;
  });
  const answer = ItemPromise.of([sent]);
  const refuse = (reason: unknown) => {
    reject(reason);
    answer.noteRefusal(reason);
  };
  return { answer, refuse };
}

const readBy = (promise: Promise<void>) => promise.catch((reason) => reason);

describe("the promise of an item", () => {
  it("counts as reported once it is read, before or after the rejection", async () => {
    const [early, late] = [item(), item()];
    const read = readBy(early.answer);
    early.refuse("early");
    late.refuse("late");
    expect([early.answer.hasTold("early"), late.answer.hasTold("late")]).toEqual([true, false]);
    expect([await read, await readBy(late.answer)]).toEqual(["early", "late"]);
    expect(late.answer.hasTold("late")).toBe(true);
  });

  it.each([0, 1])("of several items reports only the first rejection: part %i", async (first) => {
    const parts = [item(), item()];
    const read = readBy(ItemPromise.of(parts.map(({ answer }) => answer)));
    parts[first]?.refuse(first);
    parts[1 - first]?.refuse(1 - first);
    expect(parts.map(({ answer }, k) => answer.hasTold(k))).toEqual([first === 0, first === 1]);
    expect(await read).toBe(first);
  });

  it("of several items reports every rejection with the same reason", async () => {
    const parts = [item(), item()];
    const gone = new Error("gone");
    const read = readBy(ItemPromise.of(parts.map(({ answer }) => answer)));
    for (const { refuse } of parts) refuse(gone);
    expect(parts.map(({ answer }) => answer.hasTold(gone))).toEqual([true, true]);
    expect(await read).toBe(gone);
  });

  it("of several items reports nothing until it is read, and then one rejection", async () => {
    const parts = [item(), item()];
    const all = ItemPromise.of([ItemPromise.of(parts.map(({ answer }) => answer))]);
    for (const [k, { refuse }] of parts.entries()) refuse(k);
    expect(parts.map(({ answer }, k) => answer.hasTold(k))).toEqual([false, false]);
    expect(await readBy(all)).toBe(0);
    expect(parts.map(({ answer }, k) => answer.hasTold(k))).toEqual([true, false]);
  });

  it("of several items reports no item if another promise rejects first", async () => {
    const one = item();
    const all = ItemPromise.of([Promise.reject("broken"), one.answer]);
    expect(await readBy(all)).toBe("broken");
    one.refuse("refused");
    expect(one.answer.hasTold("refused")).toBe(false);
  });
});
