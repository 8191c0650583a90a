/** Errors that point at the program's own line: a runtime quotes the line at the top of the stack of one that nobody catches. */

/** A class that programs make or use, or a function that they call. */
type Entrance = { readonly name: string; readonly prototype?: object };

const entrances = new Set<Entrance>();

/** From now on errors point at who called this function, or a method of this class. For constructors: `pointAtCallersOf(new.target)`. */
export function pointAtCallersOf(entrance: Entrance): void {
  // A class with those that it extends, down to what has no name.
  for (let each = entrance; each.name !== ""; each = Object.getPrototypeOf(each)) entrances.add(each);
}

/** No call of the package is as deep. */
const OURS = 60;

/** V8's frames: `at new Replay (file:1:2)`, `at Table.sample (file:1:2)`, `at file:1:2`. Those of the language itself have no file. */
const FRAME = /^ +at (.+):\d+:\d+\)?$/;

/** The same error. Where the runtime can do that, its stack begins with who called the package; an error of a call without an entrance keeps its own. */
export function atCaller<E extends Error>(error: E): E {
  const { captureStackTrace, stackTraceLimit } = Error as { readonly captureStackTrace?: (target: object, below?: unknown) => void; stackTraceLimit?: number };
  if (captureStackTrace === undefined) return error;
  // Not the error's own stack: once it was read, V8 no longer knows the place that it tells.
  const stackBelow = (called?: unknown) => {
    const probe = { stack: "" };
    // Our own frames may be more than those that a program wants to see.
    Reflect.set(Error, "stackTraceLimit", OURS);
    captureStackTrace(probe, called);
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    return String(probe.stack);
  };
  let folder: string | undefined;
  let outermost: unknown;
  for (const line of stackBelow().split("\n")) {
    const [, frame] = FRAME.exec(line) ?? [];
    if (frame === undefined) continue;
    const bracket = frame.lastIndexOf(" (");
    const [name, file] = bracket < 0 ? ["", frame] : [frame.slice(0, bracket), frame.slice(bracket + 2)];
    folder ??= file.slice(0, file.lastIndexOf("/") + 1).replace(/chunks\/$/, "");
    if (!file.startsWith(folder)) break;
    const named = namedIn(name);
    // Of two classes with one name, that which was really called: below the other there is no frame.
    outermost = (named.length > 1 ? named.find((called) => stackBelow(called).includes("\n")) : named[0]) ?? outermost;
  }
  if (outermost !== undefined) captureStackTrace(error, outermost);
  return error;
}

/** The functions that a frame's name may stand for: `new Replay`, `Table.sample`, `Writer.append [as add]`. */
function namedIn(frame: string): unknown[] {
  const [owner, method] = (frame.split(" [as ", 1)[0] as string).replace(/^new /, "").split(".");
  const owners = [...entrances].filter(({ name }) => name === owner);
  const called = method === undefined ? owners : owners.map((entrance) => Reflect.get(entrance.prototype ?? {}, method) ?? Reflect.get(entrance, method));
  return called.filter((each) => typeof each === "function");
}
