// A Worker with a Durable Object per game. Its sockets hibernate: between two steps the object may be gone, and costs nothing.
//   /games/NAME/actor  a WebSocket, for remoteWriter
//   /games/NAME/drain?have=NUMBER  the next transitions, for the learner
//   /games/NAME/stats
import { DurableObject } from "cloudflare:workers";
import { ServerChannel } from "reprise/remote";
import { sqlite } from "reprise/storage";
import { acceptActor, drain, MAX_ACTORS, openGame } from "./game.js";

export class Game extends DurableObject {
  /** Another one means that the object was made anew. */
  #instance = crypto.randomUUID();
  #replay;
  #channels = new Map();

  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      this.#replay = await openGame(sqlite(ctx.storage));
      // Sockets outlive the object: their actors are invited once more, and go on with their sessions.
      for (const socket of ctx.getWebSockets()) this.#accept(socket);
    });
  }

  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/drain")) return new Response(await drain(this.#replay, Number(searchParams.get("have") ?? 0)));
    if (pathname.endsWith("/stats")) return Response.json({ instance: this.#instance, ...this.#replay.stats() });
    if (this.ctx.getWebSockets().length >= MAX_ACTORS) return new Response("this game has enough actors", { status: 503 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    this.#accept(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  webSocketMessage(socket, message) {
    this.#channels.get(socket)?.message(message);
  }

  webSocketClose(socket, code, reason) {
    this.#channels.get(socket)?.end(code, reason);
    this.#channels.delete(socket);
  }

  webSocketError(socket) {
    this.webSocketClose(socket);
  }

  #accept(socket) {
    const channel = new ServerChannel(socket);
    this.#channels.set(socket, channel);
    // A timer of pings would keep the object awake: the platform ends sockets that are dead.
    acceptActor(this.#replay, channel, { keepAliveMs: null }).catch((error) => console.warn(`${error}`));
  }
}

export default {
  /** Who may come in is decided here, before there is a socket: compare a cookie or a token of the request with what you know. */
  fetch(request, env) {
    const [, games, name] = new URL(request.url).pathname.split("/");
    if (games !== "games" || !/^[\w-]{1,64}$/.test(name ?? "")) return new Response("not found", { status: 404 });
    return env.GAMES.getByName(name).fetch(request);
  },
};
