/** Keeps the session of an actor over a socket, which may reconnect: its writer, its welcome and, with `confirm: "disk"`, its record in the journal. */
import { ReplayError } from "../base/error.ts";
import type { SessionRecord, SessionRecords } from "../storage/format/sessions.ts";
import { type AcceptedOptions, AcceptedWriter, type Terms } from "./accepted-writer.ts";
import type { Host, HostWriter } from "./host.ts";
import type { ClosedMessage, HelloMessage, WelcomeMessage } from "./wire/messages.ts";

export interface SessionOptions extends Omit<Terms, "ttlMs"> {
  readonly sessionTtlMs: number;
}

/** The position of a session that an earlier run began, and the place of its record. */
export interface EarlierSession extends NonNullable<AcceptedOptions["from"]> {
  readonly place: number;
}

/** The place of a session without a record. */
const NOWHERE = -1;

export class Session {
  readonly lanes: number;
  readonly writer: AcceptedWriter;
  /** The properties of the session's writer, which the actor compares at each reconnect. */
  readonly welcome: WelcomeMessage;
  /** The farewell that is sent at the session's end. */
  farewell: ClosedMessage | undefined;
  code: number | undefined;
  readonly #secret: string;
  readonly #name: string | undefined;
  readonly #records: SessionRecords | undefined;
  readonly #from: EarlierSession | undefined;
  #place: number;
  #ttlMs = 0;
  #isLeft = false;

  /**
   * @param name the name of the session's writer @param makeWriter is called after the session's record exists, so that every writer has a record
   * @param sync requests a write to disk @param onEnd is called at the end, with the time for which the farewell is kept
   */
  constructor(
    host: Host,
    { session, lanes, reconnects }: HelloMessage,
    name: string | undefined,
    welcome: WelcomeMessage,
    makeWriter: () => HostWriter,
    options: SessionOptions,
    sync: () => Promise<void>,
    onEnd: (ttlMs: number) => void,
    from?: EarlierSession,
  ) {
    this.lanes = lanes;
    this.welcome = welcome;
    this.#secret = session;
    this.#name = name;
    this.#records = host.journal?.sessions;
    this.#from = from;
    this.#place = from?.place ?? NOWHERE;
    const terms = termsOf(options, reconnects);
    // The record of an earlier run stays unchanged until its writer continues.
    if (from === undefined) this.#keep(terms);
    let writer: HostWriter;
    try {
      writer = makeWriter();
    } catch (error) {
      if (from === undefined) this.#erase();
      throw error;
    }
    this.#keep(terms);
    this.#ttlMs = terms.ttlMs;
    this.writer = new AcceptedWriter(host, writer, {
      session,
      terms,
      from,
      onProgress: () => this.#touch(),
      sync,
      onEnding: (isLeft) => {
        this.#isLeft = isLeft;
        if (isLeft) this.#touch();
        else this.#erase();
      },
      onEnd: (farewell, code) => {
        this.farewell = farewell;
        this.code = code;
        // If an actor reconnects after its session was abandoned, the actor must not be told that it has said goodbye.
        onEnd(this.#isLeft || farewell.error !== undefined ? this.#ttlMs : 0);
      },
    });
  }

  /**
   * Handles a reconnect of the session's actor, with the options of this call to `acceptWriter`. @throws ReplayError UNSUPPORTED if the options newly require
   * `confirm: "disk"`, but the session's writer has no name
   */
  resume({ reconnects }: HelloMessage, options: SessionOptions): void {
    const { maxInFlight } = this.welcome;
    const terms = termsOf({ ...options, maxInFlight }, reconnects);
    this.#keep(terms);
    this.#ttlMs = terms.ttlMs;
    this.writer.terms = terms;
  }

  /** Removes the session, so that its actor can no longer reconnect. */
  forget(): void {
    this.#erase();
  }

  /** Keeps a record in the journal only if a restart should find the session: an outdated record would miss later confirmations. */
  #keep({ confirm, ttlMs }: Terms): void {
    const make = () => this.#record;
    if (confirm !== "disk" || ttlMs === 0) this.#erase();
    else if (this.#place !== NOWHERE) this.#records?.put(this.#place, make);
    else if (this.#name === undefined)
      throw new ReplayError(
        "UNSUPPORTED",
        'the writer of this session was accepted without confirm: "disk", and has no name that identifies it after a restart. Pass name to acceptWriter',
      );
    else this.#place = this.#records?.add(make) ?? NOWHERE;
  }

  #touch(): void {
    if (this.#place !== NOWHERE) this.#records?.touch(this.#place);
  }

  #erase(): void {
    if (this.#place !== NOWHERE) this.#records?.put(this.#place, undefined);
    this.#place = NOWHERE;
  }

  get #record(): SessionRecord {
    // The record may be read before its writer exists.
    const writer = this.writer as AcceptedWriter | undefined;
    const { number = 0, progress = { calls: 0, slots: 0 } } = writer?.position ?? this.#from ?? {};
    const steps = writer?.steps ?? this.#from?.steps ?? 0;
    return { session: this.#secret, name: this.#name as string, lanes: this.lanes, number, ...progress, steps, isOver: this.#isLeft };
  }
}

function termsOf({ sessionTtlMs, ...rest }: SessionOptions, reconnects: boolean): Terms {
  return { ...rest, ttlMs: reconnects ? sessionTtlMs : 0 };
}
