/** Tests arbitrary messages over a port: each must cause a clear error or be ignored, and must never cause an engine error or an unhandled rejection. */
import { describe, expect, test } from "vitest";
import { f32, i32, Replay, ReplayError } from "../../../src/index.ts";
import { serveInspector } from "../../../src/inspector/index.ts";
import { portSource } from "../../../src/inspector/source.ts";
import { remoteWriter } from "../../../src/remote/index.ts";
import { each } from "../../support/size.ts";
import { ends, pair, turn } from "./support.ts";

const spec = { x: i32(), y: f32(2) };
const made = () => new Replay({ spec, tables: { t: { maxSize: 100 } } });
const leaves = [
  { path: "x", text: "i32 of shape []" },
  { path: "y", text: "f32 of shape [2]" },
];

/** Values of every kind that can be cloned. */
const VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  Number.NaN,
  2 ** 40,
  7n,
  "",
  "ready",
  [],
  [null],
  [[]],
  {},
  new ArrayBuffer(3),
  new Uint8Array(5),
  new Map(),
];

/** Returns messages with one field replaced by another value or undefined; in `npm test` only some of the combinations. */
function variants(message: object): object[] {
  return Object.keys(message).flatMap((name, i) => each(4, VALUES, i).map((value) => ({ ...message, [name]: value })));
}

/** Resolves with the next message at a port. */
const heard = (port: MessagePort) =>
  new Promise<unknown>((resolve) => {
    port.addEventListener("message", ({ data }) => resolve(data), { once: true });
    port.start();
  });

const error = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (reason) => reason,
  );

/** Checks that the error is a ReplayError without text of the engine. */
function ours(reason: unknown): void {
  expect(reason).toBeInstanceOf(ReplayError);
  expect((reason as Error).message).not.toMatch(/undefined|not iterable|not a function|Cannot|null/);
}

describe("acceptWriter", () => {
  const hello = { reprise: "hello", version: 1, session: "0123456789abcdef0123456789abcdef", resume: false, reconnects: false, leaves, lanes: 1, receipt: 0 };

  test("answers a malformed hello with a welcome or a clear rejection", async () => {
    const forms = [leaves, leaves.map(({ path }) => ({ path })), [leaves[0]], "leaves"];
    for (const message of [{ reprise: "hello", version: 1 }, ...variants(hello), ...forms.map((each) => ({ ...hello, leaves: each, lanes: "1" }))]) {
      if ((message as { reprise: unknown }).reprise !== "hello") continue;
      const [here, there] = ends();
      const over = new AbortController();
      const accepted = error(made().acceptWriter(here, { signal: over.signal }));
      const { port1, port2 } = new MessageChannel();
      const answer = heard(port1);
      there.postMessage({ ...message, channel: port2 }, [port2]);
      const told = (await answer) as { readonly kind: string; readonly error?: { readonly message: string } };
      expect(["welcome", "refused"]).toContain(told.kind);
      if (told.kind === "refused") expect(told.error?.message).not.toMatch(/undefined|iterable|Cannot/);
      over.abort(new ReplayError("CLOSED", "enough"));
      port1.close();
      const reason = await accepted;
      if (!(reason instanceof RangeError || reason instanceof TypeError)) ours(reason);
      else expect(reason.message).toMatch(/^lanes must be/);
      there.close();
    }
  });

  test("ignores messages that have no channel or are not of the protocol", async () => {
    const [here, there] = ends();
    const accepted = made().acceptWriter(here);
    for (const value of VALUES) for (const message of [value, { reprise: value }, { ...hello, channel: value }]) there.postMessage(message);
    const writer = await remoteWriter(there, { spec });
    await writer.append({ x: 1, y: [1, 2] });
    await writer.close();
    expect((await accepted).steps).toBe(1);
  });

  /** Returns an accepted writer, and the raw channel to it. */
  async function accepted() {
    const [here, there] = ends();
    const coming = made().acceptWriter(here);
    const { port1, port2 } = new MessageChannel();
    const welcome = heard(port1);
    there.postMessage({ ...hello, channel: port2 }, [port2]);
    await welcome;
    port1.postMessage({ kind: "ready" });
    return { writer: await coming, channel: port1 };
  }

  const slots = 4;
  const block = { kind: "block", number: 1, buffer: new ArrayBuffer(96), base: 0, slots, used: 1, calls: [], columns: [] };
  const columns = { kind: "columns", number: 1, buffer: new ArrayBuffer(96), rows: 1, columns: [0, 8], ends: 0, finals: 0, finalColumns: [], priorities: [] };
  const calls = [
    [1],
    [0, 0, 7, 1, 1, 0, 0],
    [9, 0, 0, 1, 1, 0, 0],
    [-1, 1, 0, 0, 0, 0, 0],
    [1, 2, 5, 0, 0, 0, 0],
    [1, 2, 0, 0, 0, 0, 0],
    [1, 0, 0, 1, 1, 0, 9],
  ];
  const wrong = [
    ...VALUES,
    ...VALUES.map((kind) => ({ kind })),
    ...variants(block),
    ...variants(columns),
    ...calls.map((each) => ({ ...block, calls: each })),
    { ...block, used: 5 },
    { ...columns, rows: 1e6 },
    { ...columns, ends: 95, rows: 4 },
    { ...columns, ends: 64, finals: 1, finalColumns: [95, 95] },
    { ...columns, columns: [0, 1] },
    { ...columns, priorities: [9] },
    { ...block, base: 95 },
  ];

  test("accepts a malformed message, or ends its writer with a clear error", async () => {
    for (const message of wrong) {
      const { writer, channel } = await accepted();
      channel.postMessage(message);
      channel.postMessage({ kind: "bye" });
      const { how, error: reason } = await writer.closed;
      if (how === "left") continue;
      expect(how).toBe("failed");
      if (!(reason instanceof TypeError || reason instanceof RangeError)) ours(reason);
      else expect(reason.message).toMatch(/ must be /);
      channel.close();
    }
  });
});

describe("remoteWriter", () => {
  const welcome = {
    kind: "welcome",
    keep: 4,
    across: false,
    ends: { lanes: 1, autoreset: undefined, hasTransitions: false, observation: { path: "x", leaves: [0] } },
    reward: undefined,
    tables: ["t"],
    rules: [],
    maxInFlight: 8,
    confirm: "memory",
    received: 0,
    confirmed: 0,
  };

  /** Returns the reaction of remoteWriter to the given answer. */
  async function answered(message: unknown) {
    const [here, there] = ends();
    const coming = remoteWriter(there, { spec, timeoutMs: 2000 });
    const { channel } = (await heard(here)) as { readonly channel: MessagePort };
    channel.postMessage(message);
    const told = await coming.catch((reason) => reason);
    return { told, channel };
  }

  test("accepts a malformed welcome, or rejects with a ReplayError", async () => {
    const ended = variants(welcome.ends).map((each) => ({ ...welcome, ends: each }));
    const refused = VALUES.map((each) => ({ kind: "refused", error: each }));
    for (const message of [...VALUES, ...variants(welcome), ...ended, ...refused, { ...welcome, reward: 9 }]) {
      const { told, channel } = await answered(message);
      if (told instanceof Error) ours(told);
      else {
        await told.append({ x: 1, y: [1, 2] });
      }
      channel.close();
    }
  });

  test("a pending flush rejects with a ReplayError if a malformed message follows the welcome", async () => {
    const taken = { kind: "confirmation", number: 1, buffer: new ArrayBuffer(64) };
    for (const message of [...VALUES, ...variants(taken), { kind: "closed", error: 7 }, { kind: "closed", error: { kind: 3 } }, { kind: "flushed" }]) {
      const { told, channel } = await answered(welcome);
      await told.append({ x: 1, y: [1, 2] });
      const flushed = error(told.flush({ timeoutMs: 100 }));
      channel.postMessage(message);
      ours(await flushed);
      await turn();
      channel.close();
    }
  });

  test("accepts the welcome of a real Replay", async () => {
    const { writer } = await pair({ spec, tables: { t: { maxSize: 100 } } });
    await writer.append({ x: 1, y: [1, 2] });
    await writer.close();
  });
});

describe("an inspector", () => {
  test("malformed answers cause a ReplayError, and answers without a question are ignored", async () => {
    const [here, there] = ends();
    const source = portSource(
      here,
      () => {},
      () => {},
    );
    const questions = [{ kind: "about" }, { kind: "survey", table: "t" }, { kind: "draw", table: "t", n: 3 }, { kind: "item", table: "t", key: 1 }] as const;
    const { port1, port2 } = new MessageChannel();
    const replay = made();
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    for (let x = 0; x < 3; x++) writer.append({ x, y: [x, x] });
    serveInspector(replay, port2);
    const real = portSource(
      port1,
      () => {},
      () => {},
    );
    const ask = (from: typeof source, question: (typeof questions)[number]) =>
      new Promise<unknown>((resolve, reject) => from.ask(question as never, resolve, reject));
    let id = 0;
    for (const question of questions.slice(0, 3)) {
      const answer = (await ask(real, question)) as object;
      for (const wrong of [...VALUES, ...variants(answer)]) {
        const told = ask(source, question).catch((reason) => reason);
        there.postMessage({ reprise: "answer", id: ++id, answer: wrong });
        there.postMessage({ reprise: "answer", id, answer: wrong });
        const reason = await told;
        if (reason instanceof Error) ours(reason);
        else expect(Object.keys(reason as object)).toEqual(Object.keys(answer));
      }
    }
    for (const wrong of VALUES.slice(1)) {
      const told = ask(source, { kind: "about" }).catch((reason) => reason);
      there.postMessage({ reprise: "answer", id: ++id, error: wrong });
      ours(await told);
    }
    for (const value of VALUES) there.postMessage({ reprise: "answer", id: value });
    await turn();
    for (const end of [here, there, port1, port2]) end.close();
  });

  test("malformed questions receive a clear error or no answer", async () => {
    const [here, there] = ends();
    serveInspector(made(), here);
    const answers: { readonly error?: { readonly kind: string; readonly message: string } }[] = [];
    there.addEventListener("message", ({ data }) => void (data.reprise === "answer" && answers.push(data)));
    there.start();
    const ask = { reprise: "ask", version: 1, id: 1, question: { kind: "draw", table: "t", n: 3 } };
    const questions = variants(ask.question).map((question) => ({ ...ask, question }));
    const commands = VALUES.map((command) => ({ reprise: "turn", command }));
    for (const message of [...VALUES, ...variants(ask), ...questions, ...commands]) there.postMessage(message);
    there.postMessage({ ...ask, id: 99, question: { kind: "about" } });
    while (answers.at(-1)?.error !== undefined || (answers.at(-1) as { id?: unknown } | undefined)?.id !== 99) await turn();
    for (const { error: told } of answers) if (told !== undefined) expect(told.message).not.toMatch(/Cannot|not iterable|not a function|reading/);
    expect(answers.length).toBeGreaterThan(VALUES.length);
    here.close();
  });
});
