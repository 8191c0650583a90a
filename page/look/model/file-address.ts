/** Returns the address of a file in the folder of another address, with any characters in its name. */
export function fileAddress(folder: string, path: string): string {
  const url = new URL(folder);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${path.split("/").map(encodeURIComponent).join("/")}`;
  return url.href;
}
