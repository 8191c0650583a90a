/**
 * The entry point of reprise/inspector: the element `<replay-inspector>`, which shows the content of a Replay without changing it.
 *
 * In the page of the Replay:
 *   import "reprise/inspector";
 *   const inspector = document.querySelector("replay-inspector");
 *   inspector.replay = replay;
 *   for (;;) { await inspector.turn(); … }        // its buttons can then pause the program, or let it do one step
 *
 * If the Replay is in a worker, the page sets a port and the worker serves it. Inside a worker, `self` is also a port:
 *   inspector.port = port;                         // page
 *   import { serveInspector } from "reprise/inspector";
 *   const inspected = serveInspector(replay, port);  // worker
 *   for (;;) { await inspected.turn(); … }
 *
 * Outside a page, as in Node, the import defines no element, but `serveInspector` works.
 */
import "../base/host.ts";
import type { PortLike } from "../remote/channels/port.ts";
import type { Replay } from "../replay/replay.ts";
import { InspectorElement } from "./element.ts";

export { ReplayError, type ReplayErrorCode } from "../base/error.ts";
export type { PortLike } from "../remote/channels/port.ts";
export { type InspectedReplay, serveInspector } from "./serve.ts";

/** The element. It dispatches the events `pause`, `resume` and `step` when a person or a program calls these methods. */
export interface ReplayInspector extends HTMLElement {
  /** The Replay in this page; null for none. Setting it replaces `port`. */
  replay: Replay | null;
  /** The port at whose other end `serveInspector` shows a Replay: a MessagePort or a Worker. Setting it replaces `replay`. */
  port: PortLike | null;
  /** The table to show. Default: the first one */
  table: string | undefined;
  readonly paused: boolean;
  /** Pauses the display, and the program if it awaits its turns. */
  pause(): void;
  /** Pauses, lets the program do one step, and shows the result. */
  step(): void;
  resume(): void;
  /**
   * Waits while the program is paused; call it before each step of a program in this page. A program at the other end of a port calls `turn` of the object from
   * `serveInspector`.
   * @returns `undefined`, or a promise to await while the program is paused
   * @throws the signal's reason, if it is aborted
   */
  turn(options?: { readonly signal?: AbortSignal }): Promise<void> | undefined;
  /** Shows the item with a key in the current table. */
  show(key: number): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "replay-inspector": ReplayInspector;
  }
}

const { customElements } = globalThis as { readonly customElements?: CustomElementRegistry };
if (customElements !== undefined && customElements.get("replay-inspector") === undefined) customElements.define("replay-inspector", InspectorElement);
