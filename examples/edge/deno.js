// The same games on a server of your own, with files: `deno run --allow-net=127.0.0.1 --allow-read=DIR --allow-write=DIR deno.js DIR [PORT]`.
import { acceptActor, drain, MAX_ACTORS, openGame } from "./game.js";

const [dir, port = "8080"] = Deno.args;
/** Games that are open: their memories, their actors' writers, and how many sockets wait for theirs. */
const games = new Map();

function gameOf(name) {
  if (games.has(name)) return games.get(name);
  // No other process opens these folders, but a server that was killed has left its lock in them.
  const game = { opening: openGame(`${dir}/${name}`, { takeOver: true }), writers: new Set(), entering: 0 };
  games.set(name, game);
  game.opening.catch(() => games.delete(name)); // the next request tries again
  return game;
}

/** Returns how many actors of a game are connected or connecting. An actor that comes back continues its writer. */
function actorsOf({ writers, entering }) {
  return entering + [...writers].filter(({ connected }) => connected).length;
}

async function enter(game, replay, socket) {
  game.entering++;
  try {
    const writer = await acceptActor(replay, socket, {});
    game.writers.add(writer);
    writer.closed.then(() => game.writers.delete(writer));
  } finally {
    game.entering--;
  }
}

async function handle(request) {
  const { pathname, searchParams } = new URL(request.url);
  const [, first, name, what] = pathname.split("/");
  if (first !== "games" || !/^[\w-]{1,64}$/.test(name ?? "")) return new Response("not found", { status: 404 });
  const game = gameOf(name);
  const replay = await game.opening;
  if (what === "drain") return new Response(await drain(replay, Number(searchParams.get("have") ?? 0)));
  if (what === "stats") return Response.json(replay.stats());
  if (actorsOf(game) >= MAX_ACTORS) return new Response("this game has enough actors", { status: 503 });
  // Who may come in is decided here: compare a cookie or a token of the request with what you know.
  const { socket, response } = Deno.upgradeWebSocket(request);
  enter(game, replay, socket).catch((error) => console.warn(`${error}`));
  return response;
}

Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen: ({ port }) => console.log(`http://127.0.0.1:${port}`) }, handle);
