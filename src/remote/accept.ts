/** Implements the Replay's end of a connection: accepts actors that connect over a port or a socket. */
import { codeOf, finite, integer, oneOf, onlyKeys, ReplayError } from "../base/error.ts";
import { MAX_TIMEOUT_MS } from "../base/limits.ts";
import { abortable, checkWait, type WaitOptions } from "../base/wait.ts";
import { disposed } from "../memory/engine.ts";
import { endRulesOf } from "../tables/episode-ends.ts";
import { finiteReward, type WriterOptions } from "../tables/rules.ts";
import { AcceptedWriter } from "./accepted-writer.ts";
import type { Arrival } from "./channels/arrival.ts";
import { CLOSE } from "./channels/close-codes.ts";
import { SocketLink } from "./channels/link.ts";
import { encodeError } from "./channels/port.ts";
import { meetActor } from "./channels/port-handshake.ts";
import { checkHello, checkLanes, describeLeaves, foreignHello, socketClosed } from "./handshake.ts";
import type { Host } from "./host.ts";
import { type AcceptLimits, type ResolvedLimits, resolveLimits } from "./limits.ts";
import { EndedSession, Sessions } from "./sessions.ts";
import { kindOfMessage } from "./validators.ts";
import type { KindName } from "./wire/frame.ts";
import { type ClosedMessage, type HelloMessage, type InviteMessage, type RefusedMessage, VERSION, type WelcomeMessage } from "./wire/messages.ts";
import { sharedLeaves } from "./wire/shared-leaves.ts";
import { StepDecoder } from "./wire/wire.ts";

/** The options of an accepted writer. `lanes` is missing, because the actor sets it. */
export interface AcceptOptions<TableName extends string = string, Columns = object> extends Omit<WriterOptions<TableName, Columns>, "lanes">, WaitOptions {
  /** The maximum number of unconfirmed steps of the actor, and of unconfirmed items per table; at least 1. At the limit, the actor waits. Default: 1024. */
  readonly maxInFlight?: number;
  /**
   * The place in which a step must be stored to count as confirmed: "memory", or "disk" for a Replay from `Replay.open`. With "disk", a restart neither loses
   * nor repeats a step. The actor keeps unconfirmed steps. Default: "memory".
   */
  readonly confirm?: "memory" | "disk";
  /** The time in milliseconds within which an actor can reconnect after its socket broke. Its episode stays open in the meantime. Default: 60,000. */
  readonly sessionTtlMs?: number;
  /** The limits for a socket, whose other end may be any program. */
  readonly limits?: AcceptLimits;
  /**
   * The time in milliseconds without a message after which a socket is pinged. Pass null to disable pings, for Durable Objects that a timer would keep from
   * hibernating. Default: 30,000.
   */
  readonly keepAliveMs?: number | null;
  /** The time in milliseconds to wait for the answer to a ping before the connection counts as broken. Default: 20,000. */
  readonly keepAliveTimeoutMs?: number;
}

const OPTIONS = "name, keep, items, across, autoreset, maxInFlight, confirm, sessionTtlMs, limits, keepAliveMs, keepAliveTimeoutMs, signal, timeoutMs";
const MAX_IN_FLIGHT = 1024;
const SESSION_TTL_MS = 60_000;
const KEEP_ALIVE_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 20_000;
/** The default time, in milliseconds, within which a socket must send its hello. */
const HELLO_MS = 30_000;

/** The codes of temporary errors, after which an actor may reconnect. */
const PASSING: readonly unknown[] = ["IO", "TIMEOUT"];

/** The messages that an actor's end sends. */
const FROM_WRITER: ReadonlySet<KindName> = new Set(["hello", "block", "columns", "flush", "bye", "receipt"]);
const CONFIRM = { memory: "memory", disk: "disk" } as const;

interface Checked {
  readonly writerOptions: WriterOptions;
  readonly maxInFlight: number;
  readonly confirm: "memory" | "disk";
  readonly sessionTtlMs: number;
  readonly limits: ResolvedLimits;
  readonly keepAliveMs: number | null;
  readonly keepAliveTimeoutMs: number;
}

/** Prepares a host for actors. If the promise rejects, actors receive the error. */
export type Preparation = (wait: { readonly signal: AbortSignal }) => Promise<void>;

/**
 * Accepts an actor at the other end of a port or a socket. Resolves when the actor has connected.
 * @param prepare if passed, is called after the options are checked
 * @throws the errors of `replay.acceptWriter`. If an option is wrong, the port or socket is unchanged
 */
export async function accept(arrival: Arrival, host: Host, options: AcceptOptions, prepare?: Preparation): Promise<AcceptedWriter> {
  const { signal, timeoutMs, ...rest } = onlyKeys("acceptWriter", options, OPTIONS);
  const checked = check(rest, host);
  checkWait({ signal, timeoutMs });
  // Ends the wait when the caller's signal aborts, or when the Replay is disposed of.
  const aborter = new AbortController();
  const stop = () => aborter.abort(signal?.reason);
  const closer = { close: () => aborter.abort(disposed()) };
  signal?.addEventListener("abort", stop);
  host.engine.closers.add(closer);
  // The Replay may have been disposed of while this module was being imported.
  if (host.engine.closed) closer.close();
  try {
    const wait = { signal: aborter.signal, timeoutMs };
    const ready = host.engine.closed ? undefined : prepare?.(wait);
    return await (arrival.port === undefined ? acceptSocket : acceptPort)(arrival, host, checked, wait, ready);
  } finally {
    signal?.removeEventListener("abort", stop);
    host.engine.closers.delete(closer);
  }
}

/** Returns the options with their defaults. @throws TypeError, RangeError if an option is invalid · ReplayError UNSUPPORTED if the host does not support one */
function check(options: Omit<AcceptOptions, "signal" | "timeoutMs">, host: Host): Checked {
  const { maxInFlight = MAX_IN_FLIGHT, confirm = "memory", sessionTtlMs = SESSION_TTL_MS, limits, ...others } = options;
  const { keepAliveMs = KEEP_ALIVE_MS, keepAliveTimeoutMs = KEEP_ALIVE_TIMEOUT_MS, ...writerOptions } = others;
  integer("maxInFlight", maxInFlight, 1);
  oneOf("confirm", CONFIRM, confirm);
  finite("sessionTtlMs", sessionTtlMs, 0, MAX_TIMEOUT_MS);
  if (keepAliveMs !== null) integer("keepAliveMs", keepAliveMs, 1, MAX_TIMEOUT_MS / 2);
  integer("keepAliveTimeoutMs", keepAliveTimeoutMs, 1, MAX_TIMEOUT_MS / 2);
  host.resolve(writerOptions);
  if (confirm === "disk" && host.journal === undefined)
    throw new ReplayError("UNSUPPORTED", 'confirm: "disk" requires a Replay with a journal. Create the Replay with Replay.open');
  return { writerOptions, maxInFlight, confirm, sessionTtlMs, limits: resolveLimits(limits), keepAliveMs, keepAliveTimeoutMs };
}

/** Returns the welcome message, which describes the writer to an actor. @throws the errors of `acceptWriter` */
function welcomeOf(host: Host, { writerOptions, maxInFlight, confirm }: Checked, lanes: number): WelcomeMessage {
  const { engine, tables } = host;
  const resolved = host.resolve({ ...writerOptions, lanes } as WriterOptions);
  const { keep, across, items } = resolved;
  return {
    kind: "welcome",
    keep,
    across,
    ends: endRulesOf(resolved, engine.roles),
    reward: finiteReward(engine, items),
    tables,
    rules: items.map(({ table }) => table),
    maxInFlight,
    confirm,
    received: 0,
    confirmed: 0,
  };
}

/** The options of a wait, always with a signal. */
type Wait = WaitOptions & { readonly signal: AbortSignal };

async function acceptPort(arrival: Arrival, host: Host, checked: Checked, wait: Wait, ready: Promise<void> | undefined): Promise<AcceptedWriter> {
  const { writerOptions, maxInFlight, confirm, sessionTtlMs } = checked;
  const terms = { maxInFlight, confirm, ttlMs: 0 } as const;
  const sessions = Sessions.of(host, sessionTtlMs);
  const descriptions = describeLeaves(host.engine.layout.leaves);
  let abandon = () => {};
  try {
    if (ready !== undefined) await abortable(ready, "the Replay is not ready", wait);
  } catch (error) {
    // An actor that has already said hello receives the error.
    const tell = () => {
      throw error;
    };
    const ignore = () => {};
    meetActor(arrival, tell, ignore, ignore).abandon();
    throw error;
  }
  const result = new Promise<AcceptedWriter>((resolve, reject) => {
    const reply = (hello: unknown) => {
      const { lanes } = checkHello(hello, descriptions);
      const welcome = welcomeOf(host, checked, lanes);
      sessions.release(writerOptions.name);
      host.mustBeFree(writerOptions.name);
      return welcome;
    };
    const meeting = meetActor(
      arrival,
      reply,
      (link, { session, lanes, receipt }, leave) => {
        const writer = host.writer({ ...writerOptions, lanes } as WriterOptions);
        const sync = () => sessions.sync();
        const accepted = new AcceptedWriter(host, writer, { session, terms, sync, onEnding: () => {}, onEnd: () => {} });
        accepted.attach(link, receipt, leave);
        resolve(accepted);
      },
      reject,
    );
    abandon = () => meeting.abandon();
  });
  try {
    return await abortable(result, "no remoteWriter connected at the other end of the port", wait);
  } catch (error) {
    abandon();
    throw error;
  }
}

async function acceptSocket(
  arrival: Arrival,
  host: Host,
  checked: Checked,
  { signal, timeoutMs = HELLO_MS }: Wait,
  ready: Promise<void> | undefined,
): Promise<AcceptedWriter> {
  const { limits, keepAliveMs, keepAliveTimeoutMs } = checked;
  const link = new SocketLink(arrival.takeChannel(), FROM_WRITER);
  link.maxBytes = Math.max(link.maxBytes, limits.frameBytes);
  const result = new Promise<AcceptedWriter>((resolve, reject) => {
    const refuse = (error: unknown) => {
      // When the wait ends, the link is closed below.
      if (signal.aborted) return;
      link.post({ kind: "refused", error: encodeError(error) } satisfies RefusedMessage);
      link.close(CLOSE.refused, (error as Error).message);
      reject(error);
    };
    ready?.catch((error) => {
      if (!PASSING.includes(codeOf(error))) return refuse(error);
      link.close(CLOSE.unready, (error as Error).message);
      reject(error);
    });
    // Messages before the hello were meant for an earlier Replay.
    let isGreeted = false;
    link.onMessage = (message: HelloMessage) => {
      if (kindOfMessage(message) !== "hello") return;
      isGreeted = true;
      // Before it is welcomed, an actor sends nothing, except that it may repeat its hello.
      link.onMessage = (next: HelloMessage) => {
        if (kindOfMessage(next) === "hello" && next.session !== message.session) link.onFault(foreignHello());
      };
      enter(link, message, host, checked, ready).then(resolve, (error) => {
        if (!(error instanceof EndedSession)) return refuse(error);
        link.post({ kind: "closed" } satisfies ClosedMessage);
        link.close(CLOSE.normal);
        reject(error);
      });
    };
    link.onEnd = (code, reason) => reject(socketClosed(code, reason));
    link.onFault = (error) => {
      link.close((error as { readonly closeCode?: number }).closeCode ?? CLOSE.broken, error.message);
      reject(error);
    };
    link.open();
    if (keepAliveMs !== null) link.watch(keepAliveMs, keepAliveTimeoutMs);
    // If the hello has already arrived, an invitation would only cause another hello.
    if (!isGreeted) link.post({ kind: "invite", versions: [VERSION] } satisfies InviteMessage);
  });
  try {
    return await abortable(result, "no remoteWriter connected at the other end of the socket", { signal, timeoutMs });
  } catch (error) {
    link.close(signal?.aborted ? CLOSE.normal : CLOSE.silent, (error as Error).message ?? "");
    throw error;
  }
}

/** Accepts an actor after preparation, with its earlier session or with a new session. @throws the errors of `acceptWriter` */
async function enter(link: SocketLink, message: unknown, host: Host, checked: Checked, ready: Promise<void> | undefined): Promise<AcceptedWriter> {
  if (ready !== undefined) await ready;
  if (link.isOver) throw socketClosed(undefined);
  const { writerOptions, limits, keepAliveMs, keepAliveTimeoutMs, sessionTtlMs } = checked;
  const { leaves } = host.engine.layout;
  const hello = checkHello(message, describeLeaves(leaves));
  const { lanes, receipt } = hello;
  checkLanes(lanes, limits.lanes);
  const sessions = Sessions.of(host, sessionTtlMs);
  const earlier = sessions.find(hello, writerOptions.name);
  if (earlier?.farewell === undefined) earlier?.resume(hello, checked);
  const { writer, welcome } = earlier ?? sessions.open({ hello, writerOptions, welcome: welcomeOf(host, checked, lanes), options: checked });
  try {
    // After an actor is welcomed, its session must survive a restart.
    if (checked.confirm === "disk") await sessions.sync();
  } catch (error) {
    if (earlier === undefined) writer.abandon();
    throw error;
  }
  const known = sessions.find(hello, writerOptions.name);
  // The session may have ended because another actor has taken the name in the meantime.
  if (known === undefined) throw new ReplayError("NOT_FOUND", "the session of this writer ended while the writer was connecting. Create a new writer");
  if (known.farewell !== undefined) {
    link.post(known.farewell);
    link.close(known.code);
    return known.writer;
  }
  const shared = sharedLeaves(leaves, lanes);
  link.codec = new StepDecoder(leaves, lanes, shared, limits.frameBytes, welcome.rules.length);
  link.maxBytes = limits.frameBytes;
  const { received, confirmed } = writer.position;
  const { frameBytes, inFlightBytes } = limits;
  const { confirm } = checked;
  // Without `keepAliveMs`, the interval is as long as possible, because each ping would wake a hibernating object.
  const pings = { keepAliveMs: keepAliveMs ?? Math.floor(MAX_TIMEOUT_MS / 2), keepAliveTimeoutMs };
  link.post({ ...welcome, confirm, received, confirmed, frameBytes, inFlightBytes, shared, ...pings } satisfies WelcomeMessage);
  writer.attach(link, receipt, () => {});
  return writer;
}
