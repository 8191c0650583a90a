/** Where in a folder the dataset is: `half_cheetah/1.0.0`, or what is above it. */
import { RldsError } from "../../rlds/dataset/rlds-error.ts";
import { inside, type SourceFolder } from "../sources/source.ts";
import { INFO } from "./dataset-info.ts";

const VERSION = /^(?:(.*)\/)?(\d+)\.(\d+)\.(\d+)$/;

/** The folder itself, or the newest version of the one dataset below it. @throws RldsError NOT_FOUND, UNSUPPORTED where there are several datasets */
export async function versionFolder(folder: SourceFolder): Promise<SourceFolder> {
  const paths = await folder.list();
  // Nobody can list what is behind a URL: there it is the folder, or not there.
  if (paths === undefined || paths.includes(INFO)) return folder;
  const found = paths.flatMap((path) => {
    if (!path.endsWith(`/${INFO}`)) return [];
    const below = path.slice(0, -INFO.length - 1);
    const [, name, ...version] = VERSION.exec(below) ?? [];
    return version.length === 0 ? [] : [{ path: below, name: name ?? "", version: version.map(Number) }];
  });
  const names = [...new Set(found.map(({ name }) => name))];
  if (names.length > 1)
    throw new RldsError("UNSUPPORTED", `the folder contains several datasets, ${names.join(", ")}: name the folder of one`, { file: folder.name });
  const [newest] = found.sort((a, b) => compared(b.version, a.version));
  if (newest === undefined)
    throw new RldsError("NOT_FOUND", `there is no ${INFO}, neither here nor in a folder named like a version, such as 1.0.0`, { file: folder.name });
  return below(folder, newest.path);
}

function compared(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at === -1 ? 0 : (a[at] as number) - (b[at] as number);
}

function below(folder: SourceFolder, path: string): SourceFolder {
  const name = `${folder.name}/${path}`;
  return {
    name,
    open: (file) => folder.open(`${path}/${inside(file, name)}`),
    async list() {
      const paths = await folder.list();
      return paths?.filter((file) => file.startsWith(`${path}/`)).map((file) => file.slice(path.length + 1));
    },
  };
}
