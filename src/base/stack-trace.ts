/** Cuts stack traces so that they begin at the program's own line, because runtimes quote the top line of an uncaught error. */

/** A public class or a public function. */
type EntryPoint = { readonly name: string; readonly prototype?: object };

const entryPoints = new Set<EntryPoint>();

/** Hides the frames of a function, or of a class and its methods, in stack traces of errors. In constructors: `hideFrames(new.target)`. */
export function hideFrames(entryPoint: EntryPoint): void {
  // Includes the base classes of a class, up to the first one without a name.
  for (let base = entryPoint; base.name !== ""; base = Object.getPrototypeOf(base)) entryPoints.add(base);
}

/** The number of stack frames to capture. No call within the package creates more. */
const MAX_FRAMES = 60;

/** Frames in V8: `at new Replay (file:1:2)`, `at Table.sample (file:1:2)`, `at file:1:2`. Frames of built-in functions have no file. */
const FRAME = /^ +at (.+):\d+:\d+\)?$/;

/**
 * Returns the same error. If the runtime supports it, the error's stack starts at the caller of the package. Without a known entry point, the stack is
 * unchanged.
 */
export function trimStack<E extends Error>(error: E): E {
  const { captureStackTrace, stackTraceLimit } = Error as { readonly captureStackTrace?: (target: object, below?: unknown) => void; stackTraceLimit?: number };
  if (captureStackTrace === undefined) return error;
  // The error's own stack is not used, because V8 cannot change a stack that has been read.
  const captureStack = (callee?: unknown) => {
    const probe = { stack: "" };
    // The stack may contain more frames of the package than the program's limit allows.
    Reflect.set(Error, "stackTraceLimit", MAX_FRAMES);
    captureStackTrace(probe, callee);
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    return String(probe.stack);
  };
  let folder: string | undefined;
  let outermost: unknown;
  for (const line of captureStack().split("\n")) {
    const [, frame] = FRAME.exec(line) ?? [];
    if (frame === undefined) continue;
    const bracket = frame.lastIndexOf(" (");
    const [name, file] = bracket < 0 ? ["", frame] : [frame.slice(0, bracket), frame.slice(bracket + 2)];
    folder ??= file.slice(0, file.lastIndexOf("/") + 1).replace(/chunks\/$/, "");
    if (!file.startsWith(folder)) break;
    const candidates = functionsOf(name);
    // If two classes share a name, the class that was called is the one with frames below it in the stack.
    outermost = (candidates.length > 1 ? candidates.find((candidate) => captureStack(candidate).includes("\n")) : candidates[0]) ?? outermost;
  }
  if (outermost !== undefined) captureStackTrace(error, outermost);
  return error;
}

/** Returns the functions that the name of a frame can mean: `new Replay`, `Table.sample`, `Writer.append [as add]`. */
function functionsOf(frame: string): unknown[] {
  const [owner, method] = (frame.split(" [as ", 1)[0] as string).replace(/^new /, "").split(".");
  const owners = [...entryPoints].filter(({ name }) => name === owner);
  const functions =
    method === undefined ? owners : owners.map((entryPoint) => Reflect.get(entryPoint.prototype ?? {}, method) ?? Reflect.get(entryPoint, method));
  return functions.filter((value) => typeof value === "function");
}
