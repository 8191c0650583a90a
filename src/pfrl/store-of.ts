/** What is behind a buffer, for tests. Not for programs. */
import type { Transitions } from "./transitions.ts";

export const storeOf = new WeakMap<object, Transitions>();
