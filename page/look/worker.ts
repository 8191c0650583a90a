/** Reads datasets for the room in a worker, so that the page stays responsive. */
import type { EpisodeArgument, ExportArgument, OpenArgument, ReadArgument } from "./messages.ts";
import { serve, type Tell } from "./reading/port.ts";
import { Session } from "./reading/session.ts";

let session: Session | undefined;

function current(): Session {
  if (session === undefined) throw new TypeError("the dataset is no longer open. Open it again");
  return session;
}

serve(globalThis as unknown as Worker, {
  async open(argument: OpenArgument, signal: AbortSignal) {
    await session?.close();
    session = undefined;
    session = await Session.open(argument, signal);
    return session.opened;
  },
  read: (argument: ReadArgument, signal: AbortSignal, tell: Tell) => current().read(argument, signal, tell),
  episode: ({ index }: EpisodeArgument, signal: AbortSignal, tell: Tell) => current().episode(index, signal, tell),
  async export(argument: ExportArgument, signal: AbortSignal, tell: Tell) {
    // Writers and encoders are large, so they are loaded only for an export.
    const { exported } = await import("./reading/export.ts");
    return exported(current(), argument, signal, tell);
  },
});
