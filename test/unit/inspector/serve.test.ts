/** Tests the Replay's end of an inspector's port, and the turns with which the inspector pauses a program. */
import { expect, test } from "vitest";
import { f32, Replay } from "../../../src/index.ts";
import { ReplayError, serveInspector } from "../../../src/inspector/index.ts";
import { Pausable } from "../../../src/inspector/pausable.ts";
import type { About, DrawPreview, Survey } from "../../../src/inspector/protocol.ts";
import { localSource, portSource, type Source } from "../../../src/inspector/source.ts";
import { errorOf, expectError } from "../../support/refused.ts";

function made() {
  const replay = new Replay({ spec: { reward: f32() }, tables: { t: { maxSize: 10 }, u: { maxSize: 5 } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let i = 0; i < 7; i++) writer.append({ reward: i });
  return replay;
}

const asked = (source: Source, question: never) => new Promise<unknown>((resolve, reject) => source.ask(question, resolve as never, reject));
const about = (source: Source) => asked(source, { kind: "about" } as never) as Promise<About>;

test("a source across a port answers like a local source, and ignores other messages", async () => {
  const { port1, port2 } = new MessageChannel();
  const replay = made();
  const told: string[] = [];
  const far = portSource(
    port1,
    () => told.push("here"),
    () => told.push("gone"),
  );
  const inspected = serveInspector(replay, port2);
  port2.postMessage({ reprise: "hello" });
  port2.postMessage("something else");
  port1.postMessage(null);
  const near = await localSource(replay, new Pausable());
  expect(await about(far)).toEqual(await about(near));
  expect(await about(far)).toMatchObject({ leaves: [{ path: "reward", dtype: "f32", shape: [] }], tables: [{ name: "t" }, { name: "u" }], reward: "reward" });
  const survey = (await asked(far, { kind: "survey", table: "t" } as never)) as Survey;
  expect(survey).toEqual(await asked(near, { kind: "survey", table: "t" } as never));
  expect(survey.table?.sample.keys.length).toBe(7);
  expect(((await asked(far, { kind: "draw", table: "t", n: 3 } as never)) as DrawPreview).items.length).toBe(3);
  await expect(asked(far, { kind: "survey", table: "x" } as never)).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(asked(far, { kind: "other" } as never)).rejects.toMatchObject({ code: "UNSUPPORTED" });
  inspected.close();
  await expect(about(far)).rejects.toBeInstanceOf(ReplayError);
  expect(told).toEqual(["here", "gone"]);
  port1.close();
});

test("a question of another protocol version is rejected with an error that names the version", async () => {
  const { port1, port2 } = new MessageChannel();
  const inspected = serveInspector(made(), port2);
  const answer = new Promise<unknown>((resolve) => port1.addEventListener("message", ({ data }) => data.reprise === "answer" && resolve(data)));
  port1.start();
  port1.postMessage({ reprise: "ask", version: 2, id: 5, question: { kind: "about" } });
  expect(await answer).toMatchObject({ id: 5, error: { code: "UNSUPPORTED", message: expect.stringMatching(/version 2/) } });
  inspected.close();
  port1.close();
});

test("the other end pauses a program, lets it take one step, and resumes it", async () => {
  const { port1, port2 } = new MessageChannel();
  const inspected = serveInspector(made(), port2);
  const source = portSource(
    port1,
    () => {},
    () => {},
  );
  let steps = 0;
  let runs = true;
  const program = (async () => {
    while (runs) {
      await inspected.turn();
      steps++;
      await new Promise((resolve) => setTimeout(resolve));
    }
  })();
  const settled = async () => {
    await about(source);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return steps;
  };
  expect(await settled()).toBeGreaterThan(0);
  source.command("pause");
  const before = await settled();
  expect([await settled(), inspected.paused]).toEqual([before, true]);
  source.command("step");
  expect([await settled(), await settled()]).toEqual([before + 1, before + 1]);
  source.command("resume");
  expect(await settled()).toBeGreaterThan(before + 1);
  source.command("pause");
  await settled();
  runs = false;
  // A waiting program continues when nobody is left to resume it.
  inspected.close();
  await program;
  port1.close();
});

test("a turn ends when its signal aborts", async () => {
  const turns = new Pausable();
  expect(turns.turn()).toBe(undefined);
  turns.pause();
  const over = new AbortController();
  const [one, other] = [turns.turn(over.signal), turns.turn()];
  over.abort(new Error("enough"));
  await expect(one).rejects.toThrow("enough");
  expect(() => turns.turn(over.signal)).toThrow("enough");
  turns.resume();
  await other;
  // A step that is allowed before the program requests it is not lost; at most one such step is kept.
  turns.pause();
  turns.step();
  turns.step();
  expect(turns.turn()).toBe(undefined);
  expect(turns.turn()).toBeInstanceOf(Promise);
  turns.resume();
  expect(turns.turn()).toBe(undefined);
});

test("serveInspector rejects wrong arguments by name", () => {
  const { port1 } = new MessageChannel();
  expectError(
    errorOf(() => serveInspector({} as never, port1)),
    TypeError,
    /replay must be a Replay/,
  );
  expectError(
    errorOf(() => serveInspector(made(), {} as never)),
    TypeError,
    /port must be a MessagePort or a Worker/,
  );
  port1.close();
});

test("without a page there is no element, and nothing throws", () => {
  expect("customElements" in globalThis).toBe(false);
});
