/** What a writer's end says and takes, whatever carries it: a hello, the welcome, and then what the outbox and the inbox are for. */
import { codeOf, ReplayError } from "../../base/error.ts";
import type { PlacedLeaf } from "../../schema/layout.ts";
import { checkSameWelcome, checkWelcome, describeLeaves, makeSession } from "../handshake.ts";
import { Inbox } from "../inbox.ts";
import type { Outbox } from "../outbox.ts";
import { kindOfMessage } from "../validators.ts";
import { TEXT_BYTES } from "../wire/block-builder.ts";
import { type HelloMessage, type ToActor, VERSION, type WelcomeMessage } from "../wire/messages.ts";
import { referenceBytesOf } from "../wire/shared-frames.ts";
import type { Link } from "./link.ts";
import { decodeError } from "./port.ts";

export interface ConversationOptions {
  readonly leaves: readonly PlacedLeaf[];
  readonly lanes: number;
  readonly reconnects: boolean;
  /** Makes what sends steps, once the memory has answered; `onDone` is called at its end. */
  makeOutbox(welcome: WelcomeMessage, onDone: () => void): Outbox;
}

export class Conversation {
  readonly inbox: Inbox;
  outbox: Outbox | undefined;
  /** The first answer. */
  welcome: WelcomeMessage | undefined;
  /** Called when it is welcomed for the first time; and when it is over, with an error if that came before. */
  onStart: () => void = () => {};
  onDone: (error?: Error) => void = () => {};
  readonly #options: ConversationOptions;
  readonly #session = makeSession();
  #link: Link | undefined;
  #error: Error | undefined;

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.inbox = new Inbox((number) => this.#link?.post({ kind: "receipt", number }));
  }

  get hello(): HelloMessage {
    const { leaves, lanes, reconnects } = this.#options;
    return {
      kind: "hello",
      version: VERSION,
      session: this.#session,
      resume: this.welcome !== undefined,
      reconnects,
      leaves: describeLeaves(leaves),
      lanes,
      receipt: this.inbox.receipt,
    };
  }

  /** Checks a welcome. @throws ReplayError CORRUPT, SPEC_MISMATCH */
  check(message: unknown): WelcomeMessage {
    const welcome = checkWelcome(message, this.#options.leaves);
    if (this.welcome !== undefined) checkSameWelcome(this.welcome, welcome);
    return welcome;
  }

  /** Begins, or goes on, over a link whose other end has answered so. @throws ReplayError UNSUPPORTED, CORRUPT */
  start(link: Link, welcome: WelcomeMessage): void {
    const isFirst = this.outbox === undefined;
    this.outbox ??= this.#options.makeOutbox(welcome, () => this.onDone(this.#error));
    checkSize(this.outbox, welcome);
    this.welcome ??= welcome;
    this.#link = link;
    this.inbox.restart();
    this.outbox.attach(link, welcome);
    if (isFirst) this.onStart();
  }

  /** Takes a message, but for invitations and welcomes. */
  receive(message: ToActor): void {
    const kind = kindOfMessage(message);
    try {
      if (kind === "message") this.inbox.receive(message as never);
      else if (kind === "refused" || this.outbox === undefined) this.#refuse(message);
      else this.outbox.receive(message);
    } catch (error) {
      this.fail(error as Error);
    }
  }

  #refuse(message: ToActor): void {
    const { error } = (message ?? {}) as { readonly error?: unknown };
    const reason = decodeError(error as never);
    // Of a session that has ended with all of its steps confirmed, only the farewell was lost.
    if (codeOf(reason) === "NOT_FOUND" && this.outbox?.hasOnlyGoodbye) this.outbox.end();
    else this.fail(reason);
  }

  /** The link broke, and another one follows. */
  lose(): void {
    this.#link = undefined;
    this.outbox?.detach();
  }

  fail(error: Error): void {
    this.#error ??= error;
    if (this.outbox === undefined) this.onDone(error);
    else this.outbox.fail(error);
  }
}

/** Of a leaf's padding, and of how many of its shared frames are new. */
const LEAF_BYTES = 24;

function checkSize({ builder: { layout } }: Outbox, { frameBytes = Number.POSITIVE_INFINITY, shared = [] }: WelcomeMessage): void {
  const { leaves, lanes, slots } = layout;
  const bytes = layout.bytes + TEXT_BYTES + slots * lanes * referenceBytesOf(leaves, shared) + LEAF_BYTES * shared.length;
  if (bytes <= frameBytes) return;
  throw new ReplayError(
    "UNSUPPORTED",
    `a block of steps has ${bytes} bytes, and the other end takes frames of ${frameBytes}: raise limits.frameBytes of acceptWriter`,
  );
}
