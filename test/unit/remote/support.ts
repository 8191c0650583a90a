/** A Replay and an actor at the two ends of a channel, in one thread. */
import { setTimeout as later } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { type AcceptOptions, Replay, type ReplayOptions, type Spec } from "../../../src/index.ts";
import { type RemoteWriterOptions, remoteWriter } from "../../../src/remote/index.ts";

/** The two ends of a channel that is closed when the test is over. */
export function ends(): readonly [here: MessagePort, there: MessagePort] {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => {
    port1.close();
    port2.close();
  });
  return [port1, port2];
}

/** A writer, and what takes its steps. */
export async function pair<const S extends Spec, N extends string, const L extends number = 1>(
  options: ReplayOptions<S, N>,
  accept: AcceptOptions<N> = {},
  own: Omit<RemoteWriterOptions<S, L>, "spec"> = {},
) {
  const replay = new Replay<S, N>(options);
  const [here, there] = ends();
  const [accepted, writer] = await Promise.all([
    replay.acceptWriter(here, accept as object),
    remoteWriter<S, L>(there, { ...own, spec: options.spec } as RemoteWriterOptions<S, L>),
  ]);
  return { replay, accepted, writer, here, there };
}

/** Lets messages arrive. */
export async function turn(ms = 5): Promise<void> {
  await later(ms);
}

/** Waits for what messages bring. */
export async function until(holds: () => boolean, ms = 5000): Promise<void> {
  for (const end = performance.now() + ms; !holds(); ) {
    if (performance.now() > end) throw new Error(`waited ${ms} ms in vain for ${holds}`);
    await later(1);
  }
}
