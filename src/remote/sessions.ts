/** The sessions of a Replay's actors over sockets: who comes again is known by its secret, for as long as `sessionTtlMs` says. */
import { ReplayError } from "../base/error.ts";
import type { SessionRecord } from "../storage/format/sessions.ts";
import type { WriterOptions } from "../tables/rules.ts";
import { type AcceptedOptions, AcceptedWriter } from "./accepted-writer.ts";
import type { Host, HostEngine } from "./host.ts";
import type { ClosedMessage, HelloMessage } from "./wire/messages.ts";

export interface SessionOptions extends Pick<AcceptedOptions, "maxInFlight" | "confirm" | "limits"> {
  readonly sessionTtlMs: number;
}

/** An actor that came, and may come again. */
interface Session {
  readonly writer: AcceptedWriter;
  readonly lanes: number;
  /** What it was told at its end. */
  farewell?: ClosedMessage;
  code?: number;
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

  /** Opens a writer for an actor: a new one, or the one that an earlier run has left in the midst of its episode. @throws as `acceptWriter` */
  open(hello: HelloMessage, options: WriterOptions, sessionOptions: SessionOptions): AcceptedWriter {
    const earlier = this.#earlier(hello, options.name);
    // One that was never welcomed, and whose writer did not get as far as the disk, begins anew.
    if (earlier !== undefined && (hello.resume || this.#host.hasOrphan(earlier.name))) return this.#resume(earlier, hello, options, sessionOptions);
    if (earlier !== undefined) this.#forget(earlier);
    if (hello.resume) throw unknownSession();
    this.release(options.name);
    this.#host.mustBeFree(options.name);
    const name = options.name ?? (sessionOptions.confirm === "disk" ? `actor ${crypto.randomUUID()}` : undefined);
    for (const record of this.#host.journal?.sessions.earlier.keys() ?? []) if (record.name === name) this.#forget(record);
    const { lanes } = hello;
    return this.#add(hello, name, () => this.#host.writer({ ...options, ...(name !== undefined && { name }), lanes } as WriterOptions), sessionOptions);
  }

  /** A writer of an actor whose connection is broken leaves its name to one that comes now. */
  release(name: string | undefined): void {
    if (name === undefined) return;
    for (const { writer, farewell } of [...this.#sessions.values()]) if (writer.name === name && !writer.connected && farewell === undefined) writer.abandon();
  }

  #earlier({ session, lanes }: HelloMessage, name: string | undefined): SessionRecord | undefined {
    const record = [...(this.#host.journal?.sessions.earlier.keys() ?? [])].find((one) => one.session === session);
    if (record !== undefined && (record.lanes !== lanes || (name !== undefined && record.name !== name))) throw unknownSession();
    return record;
  }

  #resume(record: SessionRecord, hello: HelloMessage, options: WriterOptions, sessionOptions: SessionOptions): AcceptedWriter {
    const { name, lanes, number, calls, slots, steps, isOver } = record;
    if (isOver) throw new EndedSession();
    const place = this.#host.journal?.sessions.earlier.get(record);
    const resume = () => this.#host.resumeWriter({ ...options, name, lanes } as WriterOptions);
    const accepted = this.#add(hello, name, resume, sessionOptions, place, { number, progress: { calls, slots }, steps });
    this.#host.journal?.sessions.earlier.delete(record);
    return accepted;
  }

  /** @param makeWriter is called when the session's record is there, so that no writer is ever without one */
  #add(
    { session, lanes, reconnects }: HelloMessage,
    name: string | undefined,
    makeWriter: () => ReturnType<Host["writer"]>,
    { sessionTtlMs, ...rest }: SessionOptions,
    earlierPlace?: number,
    from?: AcceptedOptions["from"],
  ): AcceptedWriter {
    const ttlMs = reconnects ? sessionTtlMs : 0;
    const records = rest.confirm === "disk" && ttlMs > 0 ? this.#host.journal?.sessions : undefined;
    let accepted: AcceptedWriter | undefined;
    let place = -1;
    let isOver = false;
    const make = (): SessionRecord => {
      const { number = 0, progress = { calls: 0, slots: 0 } } = accepted?.position ?? from ?? {};
      return { session, name: name as string, lanes, number, ...progress, steps: accepted?.steps ?? from?.steps ?? 0, isOver };
    };
    if (records !== undefined && earlierPlace === undefined) place = records.add(make);
    let writer: ReturnType<Host["writer"]>;
    try {
      writer = makeWriter();
    } catch (error) {
      if (place >= 0) records?.put(place, undefined);
      throw error;
    }
    if (records !== undefined && earlierPlace !== undefined) {
      place = earlierPlace;
      records.put(place, make);
    }
    accepted = new AcceptedWriter(this.#host, writer, {
      ...rest,
      ttlMs,
      from,
      onProgress: records && (() => place >= 0 && records.touch(place)),
      sync: () => this.sync(),
      onEnding: (isLeft) => {
        isOver = isLeft;
        if (place < 0) return;
        if (isLeft) records?.touch(place);
        else records?.put(place, undefined);
      },
      onEnd: (farewell, code) => {
        Object.assign(known, { farewell, code });
        const forget = () => {
          this.#sessions.delete(session);
          if (isOver && place >= 0) records?.put(place, undefined);
        };
        // Whoever is gone and comes all the same must not believe that it has left.
        if (ttlMs > 0 && (isOver || farewell.error !== undefined)) later(ttlMs, forget);
        else forget();
      },
    });
    const known: Session = { writer: accepted, lanes };
    this.#sessions.set(session, known);
    return accepted;
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

function unknownSession(): ReplayError {
  return new ReplayError(
    "NOT_FOUND",
    'the session of this writer is not known here: the memory was started again, or sessionTtlMs is over. Make a new writer; with confirm: "disk", sessions outlive a restart',
  );
}
