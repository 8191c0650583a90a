/** The sessions of a Replay's actors over sockets: who comes again is known by its secret, for as long as `sessionTtlMs` says. */
import { ReplayError } from "../base/error.ts";
import type { SessionRecord } from "../storage/format/sessions.ts";
import type { WriterOptions } from "../tables/rules.ts";
import type { Host, HostEngine, HostWriter } from "./host.ts";
import type { ResolvedLimits } from "./limits.ts";
import { type EarlierSession, Session, type SessionOptions } from "./session.ts";
import type { HelloMessage, WelcomeMessage } from "./wire/messages.ts";

/** What a new session needs to know. */
export interface SessionRequest {
  readonly hello: HelloMessage;
  readonly writerOptions: WriterOptions;
  /** What its writer is. */
  readonly welcome: WelcomeMessage;
  readonly options: SessionOptions & { readonly limits: ResolvedLimits };
}

const ofEngine = new WeakMap<HostEngine, Sessions>();

/** A timer that keeps no process alive. */
function later(ms: number, call: () => void): void {
  const timer = setTimeout(call, ms);
  (timer as { unref?(): void }).unref?.();
}

export class Sessions {
  readonly #host: Host;
  readonly #sessions = new Map<string, Session>();
  #syncing: Promise<void> | undefined;

  /** Those of a Replay. @param ttlMs how long sessions of an earlier run are kept, where this is asked for the first time */
  static of(host: Host, ttlMs: number): Sessions {
    const known = ofEngine.get(host.engine) ?? new Sessions(host, ttlMs);
    ofEngine.set(host.engine, known);
    return known;
  }

  constructor(host: Host, ttlMs: number) {
    this.#host = host;
    for (const record of host.journal?.sessions.earlier.keys() ?? []) later(ttlMs, () => this.#expire(record));
  }

  /** The session of a secret, whatever has become of it. @throws ReplayError NOT_FOUND where it is another writer's */
  find({ session, lanes }: HelloMessage, name: string | undefined): Session | undefined {
    const known = this.#sessions.get(session);
    if (known !== undefined && (known.lanes !== lanes || (name !== undefined && known.writer.name !== name))) throw unknownSession();
    return known;
  }

  /** Opens a session for an actor: a new one, or the one that an earlier run has left in the midst of its episode. @throws as `acceptWriter` */
  open(request: SessionRequest): Session {
    const { hello, writerOptions, options } = request;
    const earlier = this.#earlier(hello, writerOptions.name);
    // One that was never welcomed, and whose writer did not get as far as the disk, begins anew.
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

  /** A writer of an actor whose connection is broken leaves its name to one that comes now. */
  release(name: string | undefined): void {
    for (const { writer } of this.#broken(name)) writer.abandon();
  }

  /** The sessions of a name whose actors have no connection. */
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

  /** Resolves when what was done so far is on the disk; one write is for all who ask in the same turn. @throws ReplayError IO */
  sync(): Promise<void> {
    this.#syncing ??= new Promise<void>((resolve) => setTimeout(resolve, 0)).then(() => {
      this.#syncing = undefined;
      return this.#host.journal?.flush();
    });
    return this.#syncing;
  }

  /** A session of an earlier run whose actor has not come. */
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

/** Thrown where an actor asks for a session that has ended well in an earlier run: it is told so. */
export class EndedSession extends ReplayError {
  constructor() {
    super("CLOSED", "this actor's session has ended already: only the farewell had not reached it");
  }
}

function tooManySessions(count: number): ReplayError {
  return new ReplayError(
    "RATE_LIMITED",
    `${count} sessions of actors are kept already, and limits.sessions allows no more: come later, or raise limits.sessions of acceptWriter`,
  );
}

function unknownSession(): ReplayError {
  return new ReplayError(
    "NOT_FOUND",
    'the session of this writer is not known here: the memory was started again, or sessionTtlMs is over. Make a new writer; with confirm: "disk", sessions outlive a restart',
  );
}
