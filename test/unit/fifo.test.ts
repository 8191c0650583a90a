/** Compares the queue with a plain array. */
import { expect, test } from "vitest";
import { Fifo } from "../../src/base/fifo.ts";
import { TestRandom } from "../support/random.ts";

test("a queue returns the same elements as an array, even after it trims its storage", () => {
  const random = new TestRandom(5);
  const queue = new Fifo<number>();
  let twin: number[] = [];
  for (let n = 0; n < 20_000; n++) {
    // The queue first grows, then shrinks.
    if (random.below(10) < (n < 8000 ? 8 : 3)) {
      queue.push(n);
      twin.push(n);
    } else expect(queue.shift()).toBe(twin.shift());
    expect(queue.first).toBe(twin[0]);
    if (n % 500 === 0) {
      const sought = twin[random.below(Math.max(twin.length, 1))];
      expect(queue.find((element) => element === sought)).toBe(sought);
    }
    if (n !== 18_000) continue;
    queue.clear();
    twin = [];
  }
});
