/** The pictures of the documents, by the file that `npm run pictures` writes. */
import { draw as goals } from "./goals.mjs";
import { draw as howItWorks } from "./how-it-works.mjs";
import { draw as packed } from "./packed.mjs";
import { draw as ratios } from "./ratios.mjs";
import { draw as sequences } from "./sequences.mjs";
import { draw as sockets } from "./sockets.mjs";

export const PICTURES = {
  "docs/how-it-works.svg": howItWorks,
  "docs/pictures/goals.svg": goals,
  "docs/pictures/packed.svg": packed,
  "docs/pictures/ratios.svg": ratios,
  "docs/pictures/sequences.svg": sequences,
  "docs/pictures/sockets.svg": sockets,
};
