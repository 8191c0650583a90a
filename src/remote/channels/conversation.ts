/** Handles the messages of a writer's end over any link: a hello, the welcome, and then the messages of the outbox and the inbox. */
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
  /** Creates the outbox after the Replay has answered. `onDone` is called at its end. */
  makeOutbox(welcome: WelcomeMessage, onDone: () => void): Outbox;
}

export class Conversation {
  readonly inbox: Inbox;
  outbox: Outbox | undefined;
  /** The first welcome. */
  welcome: WelcomeMessage | undefined;
  /** `onStart` is called at the first welcome, and `onDone` at the end. If the end came before a welcome, `onDone` receives an error. */
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

  /** Checks a welcome. @throws ReplayError CORRUPT if it is malformed, SPEC_MISMATCH if the writer has other properties than in the first welcome */
  check(message: unknown): WelcomeMessage {
    const welcome = checkWelcome(message, this.#options.leaves);
    if (this.welcome !== undefined) checkSameWelcome(this.welcome, welcome);
    return welcome;
  }

  /**
   * Starts, or continues, over a link whose other end has sent this welcome. @throws ReplayError UNSUPPORTED if a block may exceed the frame limit of the other
   * end, CORRUPT if the Replay has lost confirmed blocks
   */
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

  /** Handles a message other than an invitation or a welcome. */
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
    // If the session has ended and all of its steps are confirmed, only the farewell was lost.
    if (codeOf(reason) === "NOT_FOUND" && this.outbox?.hasOnlyGoodbye) this.outbox.end();
    else this.fail(reason);
  }

  /** Handles a broken link that a new link will replace. */
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

/** The maximum number of bytes in a frame for a leaf's padding, and for its number of new shared frames. */
const LEAF_BYTES = 24;

function checkSize({ builder: { layout } }: Outbox, { frameBytes = Number.POSITIVE_INFINITY, shared = [] }: WelcomeMessage): void {
  const { leaves, lanes, slots } = layout;
  const bytes = layout.bytes + TEXT_BYTES + slots * lanes * referenceBytesOf(leaves, shared) + LEAF_BYTES * shared.length;
  if (bytes <= frameBytes) return;
  throw new ReplayError(
    "UNSUPPORTED",
    `a block of steps has ${bytes} bytes, and the other end accepts frames of at most ${frameBytes}. Increase limits.frameBytes of acceptWriter`,
  );
}
