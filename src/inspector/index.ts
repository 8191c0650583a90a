/**
 * reprise/inspector: the element `<replay-inspector>`, which shows the contents of a Replay without changing it.
 *
 * With a Replay in the page:
 * import "reprise/inspector";
 * const inspector = document.querySelector("replay-inspector");
 * inspector.replay = replay;
 * for (;;) { await inspector.turn(); … }        // lets its buttons pause the program, or run one step
 *
 * With a Replay in a worker, the page sets a port and the worker serves it; inside a worker, `self` is also a port:
 * inspector.port = port;                         // page
 * import { serveInspector } from "reprise/inspector";
 * const inspected = serveInspector(replay, port);  // worker
 * for (;;) { await inspected.turn(); … }
 *
 * In other environments, such as Node, no element is defined, but `serveInspector` works.
 */
import "../base/host.ts";
import type { PortLike } from "../remote/channels/port.ts";
import type { Replay } from "../replay/replay.ts";
import { InspectorElement } from "./element.ts";

export { ReplayError, type ReplayErrorCode } from "../base/error.ts";
export type { PortLike } from "../remote/channels/port.ts";
export { type InspectedReplay, serveInspector } from "./serve.ts";

/** The element. It fires the events `pause`, `resume` and `step`, whether a person or a program calls these. */
export interface ReplayInspector extends HTMLElement {
  /** A Replay in this page; null for none. Setting it resets `port`. */
  replay: Replay | null;
  /** A port with `serveInspector` at its other end: a MessagePort or a Worker. Setting it resets `replay`. */
  port: PortLike | null;
  /** The table to show. Default: the first. */
  table: string | undefined;
  readonly paused: boolean;
  /** Pauses the view, and the program, if it requests turns. */
  pause(): void;
  /** Pauses, lets the program run one step, and shows the result. */
  step(): void;
  resume(): void;
  /**
   * Requests a turn. A program in this page calls it before each step; a program at the other end of a port calls `turn` of the result of `serveInspector`.
   * @returns `undefined`, or a promise to await while it is paused
   * @throws the signal's reason
   */
  turn(options?: { readonly signal?: AbortSignal }): Promise<void> | undefined;
  /** Shows the item with this key in the current table. */
  show(key: number): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "replay-inspector": ReplayInspector;
  }
}

const { customElements } = globalThis as { readonly customElements?: CustomElementRegistry };
if (customElements !== undefined && customElements.get("replay-inspector") === undefined) customElements.define("replay-inspector", InspectorElement);
