/** Tests which values `TickValues` keeps and discards, against a twin that keeps all messages. */
import { expect, test } from "vitest";
import { type SampleRule, TickValues } from "../../../../../src/datasets/formats/mcap/ticks.ts";
import { TestRandom } from "../../../../support/random.ts";

const TICK_NS = 1e9;

interface Message {
  readonly time: number;
  readonly tick: number;
}

/** Returns the messages that must be kept: the last one up to each tick, and for "nearest" also the first one after the previous tick. */
function keptOf(messages: readonly Message[], rule: SampleRule): Set<Message> {
  const kept = new Set<Message>();
  for (const tick of new Set(messages.map((message) => message.tick))) {
    const ofTick = messages.filter((message) => message.tick === tick);
    // If several messages have the same time, the last to arrive counts as the last message, and the first to arrive as the first message.
    kept.add(ofTick.reduce((last, message) => (message.time >= last.time ? message : last)));
    if (rule === "nearest") kept.add(ofTick.reduce((first, message) => (message.time < first.time ? message : first)));
  }
  return kept;
}

test.each<SampleRule>(["last", "nearest"])("%s: TickValues returns each discarded message once, in any order of arrival", (rule) => {
  const random = new TestRandom(5);
  for (let run = 0; run < 100; run++) {
    const values = new TickValues<Message>(rule, 1);
    const messages: Message[] = [];
    const held = new Set<Message>();
    for (let i = 0; i < 20; i++) {
      const tick = 1 + random.below(3);
      const message = { time: tick * TICK_NS - random.below(8), tick };
      messages.push(message);
      held.add(message);
      const discarded = values.add(message.time, message);
      if (discarded !== undefined) expect(held.delete(discarded)).toBe(true);
      expect(held).toEqual(keptOf(messages, rule));
    }
  }
});
