// Draws the pictures of the documents with the scripts in docs/pictures: `npm run pictures`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PICTURES } from "../docs/pictures/index.mjs";
import { root } from "./step.mjs";

export function pictures() {
  for (const [file, draw] of Object.entries(PICTURES)) writeFileSync(join(root, file), draw());
  console.log(`${Object.keys(PICTURES).length} pictures`);
}
