/** An actor that came over a socket, and may come again: its writer, what it was told, and, where it confirms what is on the disk, its record in the journal. */
import { ReplayError } from "../base/error.ts";
import type { SessionRecord, SessionRecords } from "../storage/format/sessions.ts";
import { type AcceptedOptions, AcceptedWriter, type Terms } from "./accepted-writer.ts";
import type { Host, HostWriter } from "./host.ts";
import type { ClosedMessage, HelloMessage, WelcomeMessage } from "./wire/messages.ts";

export interface SessionOptions extends Omit<Terms, "ttlMs"> {
  readonly sessionTtlMs: number;
}

/** Where a session of an earlier run stands, and the place of its record. */
export interface EarlierSession extends NonNullable<AcceptedOptions["from"]> {
  readonly place: number;
}

/** No record. */
const NOWHERE = -1;

export class Session {
  readonly lanes: number;
  readonly writer: AcceptedWriter;
  /** What its writer is, which the actor compares each time that it comes. */
  readonly welcome: WelcomeMessage;
  /** What it was told at its end. */
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
   * @param name of its writer @param makeWriter is called when the session's record is there, so that no writer is ever without one
   * @param sync asks for the disk @param onEnd is called at the end, with how long its farewell is to be kept
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
    // The record of an earlier run stays as it is until its writer goes on.
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
        // Whoever is gone and comes all the same must not believe that it has left.
        onEnd(this.#isLeft || farewell.error !== undefined ? this.#ttlMs : 0);
      },
    });
  }

  /** Its actor comes again: from now on holds what this call of `acceptWriter` says. @throws ReplayError UNSUPPORTED */
  resume({ reconnects }: HelloMessage, options: SessionOptions): void {
    const { maxInFlight } = this.welcome;
    const terms = termsOf({ ...options, maxInFlight }, reconnects);
    this.#keep(terms);
    this.#ttlMs = terms.ttlMs;
    this.writer.terms = terms;
  }

  /** Nobody may come for it any more. */
  forget(): void {
    this.#erase();
  }

  /** Sees to it that the journal has a record if a restart is to find one, and none otherwise: an old one would say less than what was confirmed since. */
  #keep({ confirm, ttlMs }: Terms): void {
    const make = () => this.#record;
    if (confirm !== "disk" || ttlMs === 0) this.#erase();
    else if (this.#place !== NOWHERE) this.#records?.put(this.#place, make);
    else if (this.#name === undefined)
      throw new ReplayError(
        "UNSUPPORTED",
        'the writer of this session was accepted without confirm: "disk" and has no name, by which a restart would find it: pass a name',
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
    // A record may be asked for before its writer is there.
    const writer = this.writer as AcceptedWriter | undefined;
    const { number = 0, progress = { calls: 0, slots: 0 } } = writer?.position ?? this.#from ?? {};
    const steps = writer?.steps ?? this.#from?.steps ?? 0;
    return { session: this.#secret, name: this.#name as string, lanes: this.lanes, number, ...progress, steps, isOver: this.#isLeft };
  }
}

function termsOf({ sessionTtlMs, ...rest }: SessionOptions, reconnects: boolean): Terms {
  return { ...rest, ttlMs: reconnects ? sessionTtlMs : 0 };
}
