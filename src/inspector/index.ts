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

/** The element `<replay-inspector>`. It fires the events `pause`, `resume` and `step`, whether a person or a program causes them. */
export interface ReplayInspector extends HTMLElement {
  /** The Replay in this page to inspect, or null for none. Setting this property resets `port`. */
  replay: Replay | null;
  /** The port to a program that calls `serveInspector`: a MessagePort or a Worker. Setting this property resets `replay`. */
  port: PortLike | null;
  /** The name of the table to show. Default: the first table. */
  table: string | undefined;
  readonly paused: boolean;
  /** Pauses the view. If the program requests turns, also pauses the program. */
  pause(): void;
  /** Pauses the view, lets the program run one step, and shows the result. */
  step(): void;
  resume(): void;
  /**
   * Requests a turn. A program in this page calls `turn` before each step. A program at the other end of a port instead calls `turn` of the result of
   * `serveInspector`.
   * @returns `undefined`, or a promise to await while the inspector is paused
   * @throws the signal's reason if the signal aborts
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
