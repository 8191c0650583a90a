/** Manages the sessions of a Replay's actors over sockets. A reconnecting actor is recognized by its secret for `sessionTtlMs`. */
import { ReplayError } from "../base/error.ts";
import type { SessionRecord } from "../storage/format/sessions.ts";
import type { WriterOptions } from "../tables/rules.ts";
import type { Host, HostEngine, HostWriter } from "./host.ts";
import type { ResolvedLimits } from "./limits.ts";
import { type EarlierSession, Session, type SessionOptions } from "./session.ts";
import type { HelloMessage, WelcomeMessage } from "./wire/messages.ts";

/** The request for a new session. */
export interface SessionRequest {
  readonly hello: HelloMessage;
  readonly writerOptions: WriterOptions;
  /** The properties of the session's writer. */
  readonly welcome: WelcomeMessage;
  readonly options: SessionOptions & { readonly limits: ResolvedLimits };
}

const ofEngine = new WeakMap<HostEngine, Sessions>();

/** Sets a timer that does not keep a process alive. */
function later(ms: number, call: () => void): void {
  const timer = setTimeout(call, ms);
  (timer as { unref?(): void }).unref?.();
}

export class Sessions {
  readonly #host: Host;
  readonly #sessions = new Map<string, Session>();
  #syncing: Promise<void> | undefined;

  /** Returns the sessions of a Replay. @param ttlMs how long sessions of an earlier run are kept; used by the first call */
  static of(host: Host, ttlMs: number): Sessions {
    const known = ofEngine.get(host.engine) ?? new Sessions(host, ttlMs);
    ofEngine.set(host.engine, known);
    return known;
  }

  constructor(host: Host, ttlMs: number) {
    this.#host = host;
    for (const record of host.journal?.sessions.earlier.keys() ?? []) later(ttlMs, () => this.#expire(record));
  }

  /** Returns the session of a secret, in any state. @throws ReplayError NOT_FOUND if the session belongs to another writer */
  find({ session, lanes }: HelloMessage, name: string | undefined): Session | undefined {
    const known = this.#sessions.get(session);
    if (known !== undefined && (known.lanes !== lanes || (name !== undefined && known.writer.name !== name))) throw unknownSession();
    return known;
  }

  /** Opens a session for an actor: a new session, or a session that an earlier run left in the middle of an episode. @throws the errors of `acceptWriter` */
  open(request: SessionRequest): Session {
    const { hello, writerOptions, options } = request;
    const earlier = this.#earlier(hello, writerOptions.name);
    // A session that was never welcomed, and whose writer did not reach the disk, starts over.
    if (earlier !== undefined && (hello.resume || this.#host.hasOrphan(earlier.name))) return this.#resume(earlier, request);
    if (hello.resume) throw unknownSession();
    const broken = this.#broken(writerOptions.name);
    const count = this.#sessions.size + (this.#host.journal?.sessions.earlier.size ?? 0);
    if (count - broken.length - Number(earlier !== undefined) >= options.limits.sessions) throw tooManySessions(count);
    if (earlier !== undefined) this.#forget(earlier);
    for (const { writer } of broken) writer.abandon();
    this.#host.mustBeFree(writerOptions.name);
    const name = writerOptions.name ?? (options.confirm === "disk" ? `actor ${crypto.randomUUID()}` : undefined);
    for (const record of this.#host.journal?.sessions.earlier.keys() ?? []) if (record.name === name) this.#forget(record);
    const { lanes } = hello;
    return this.#add(request, name, () => this.#host.writer({ ...writerOptions, ...(name !== undefined && { name }), lanes } as WriterOptions));
  }

  /** Releases a name for a new actor if the connection of the actor that has the name is broken. */
  release(name: string | undefined): void {
    for (const { writer } of this.#broken(name)) writer.abandon();
  }

  /** Returns the sessions of a name whose actors have no connection. */
  #broken(name: string | undefined): Session[] {
    if (name === undefined) return [];
    return [...this.#sessions.values()].filter(({ writer, farewell }) => writer.name === name && !writer.connected && farewell === undefined);
  }

  #earlier({ session, lanes }: HelloMessage, name: string | undefined): SessionRecord | undefined {
    const record = [...(this.#host.journal?.sessions.earlier.keys() ?? [])].find((one) => one.session === session);
    if (record !== undefined && (record.lanes !== lanes || (name !== undefined && record.name !== name))) throw unknownSession();
    return record;
  }

  #resume(record: SessionRecord, request: SessionRequest): Session {
    const { name, lanes, number, calls, slots, steps, isOver } = record;
    if (isOver) throw new EndedSession();
    const place = this.#host.journal?.sessions.earlier.get(record) as number;
    const resume = () => this.#host.resumeWriter({ ...request.writerOptions, name, lanes } as WriterOptions);
    const session = this.#add(request, name, resume, { place, number, progress: { calls, slots }, steps });
    this.#host.journal?.sessions.earlier.delete(record);
    return session;
  }

  #add({ hello, welcome, options }: SessionRequest, name: string | undefined, makeWriter: () => HostWriter, from?: EarlierSession): Session {
    const secret = hello.session;
    const onEnd = (ttlMs: number) => {
      const forget = () => {
        this.#sessions.delete(secret);
        session.forget();
      };
      if (ttlMs > 0) later(ttlMs, forget);
      else forget();
    };
    const session: Session = new Session(this.#host, hello, name, welcome, makeWriter, options, () => this.sync(), onEnd, from);
    this.#sessions.set(secret, session);
    return session;
  }

  /**
   * Resolves when everything done so far is on the disk. Requests in the same turn of the event loop share one write.
   * @throws ReplayError IO if the write failed
   */
  sync(): Promise<void> {
    this.#syncing ??= new Promise<void>((resolve) => setTimeout(resolve, 0)).then(() => {
      this.#syncing = undefined;
      return this.#host.journal?.flush();
    });
    return this.#syncing;
  }

  /** Ends a session of an earlier run whose actor has not reconnected. */
  #expire(record: SessionRecord): void {
    if (this.#host.engine.closed || this.#host.journal?.sessions.earlier.has(record) !== true) return;
    this.#forget(record);
    this.#host.closeOrphan(record.name);
  }

  #forget(record: SessionRecord): void {
    const records = this.#host.journal?.sessions;
    records?.put(records.earlier.get(record) as number, undefined);
    records?.earlier.delete(record);
  }
}

/**
 * Thrown if an actor requests a session that ended normally in an earlier run. `acceptWriter` rejects with the error, but the actor receives a normal farewell.
 */
export class EndedSession extends ReplayError {
  constructor() {
    super("CLOSED", "this actor's session has already ended, and only the last message was lost");
  }
}

function tooManySessions(count: number): ReplayError {
  return new ReplayError(
    "RATE_LIMITED",
    `${count} sessions of actors are open, and limits.sessions allows no more. Retry later, or increase limits.sessions of acceptWriter`,
  );
}

function unknownSession(): ReplayError {
  return new ReplayError(
    "NOT_FOUND",
    'the Replay does not know the session of this writer. The Replay was restarted, or sessionTtlMs has passed. Create a new writer. To keep sessions after a restart, set confirm: "disk"',
  );
}
