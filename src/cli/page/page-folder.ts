/** Finds the page. The page is a separate package, `reprise-page`, so a program that only imports Reprise does not download a web application. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { UsageError } from "../exit.ts";

const NAME = "reprise-page";

/**
 * Returns the folder of the page whose version equals that of this program. The page is either part of a built clone of Reprise, or an installed package.
 * @param version the version of the program
 * @param program the folder that contains the built program
 * @param user the folder in which the program was started
 * @throws UsageError if the package is not installed, or is installed only in other versions
 */
export function pageFolder(version: string, program: string, user: string = process.cwd()): string {
  const built = join(program, NAME, "package.json");
  const manifests = [...(existsSync(built) ? [built] : []), ...manifestFrom(user), ...manifestFrom(program)];
  const packages = manifests.map((file) => ({ folder: dirname(file), version: (JSON.parse(readFileSync(file, "utf8")) as { version?: unknown }).version }));
  const match = packages.find((each) => each.version === version);
  if (match !== undefined) return join(match.folder, "page");
  const remedy = `Run npm install ${NAME}@${version}, or npm run build:page in a clone of Reprise`;
  const [other] = packages;
  if (other === undefined) throw new UsageError(`serve-page requires the package ${NAME}, which is not installed. ${remedy}`);
  throw new UsageError(`${NAME} must have the same version as reprise, ${version}, got ${other.version} in ${other.folder}. ${remedy}`);
}

function manifestFrom(folder: string): readonly string[] {
  try {
    return [createRequire(join(folder, "module.js")).resolve(`${NAME}/package.json`)];
  } catch {
    return [];
  }
}
