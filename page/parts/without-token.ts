/** Removes the token of `serve-page` from texts, because anyone with the token can read the files, and users share screenshots of errors. */

/** The address of the served folder, whole or from its token on, even if its slashes are encoded. */
const SERVED = /(?:https?:\/\/[^\s/"'<>]+)?(?:\/|%(?:25)*2F)[\w-]{43}(?:\/|%(?:25)*2F)data(?![\w-])/gi;

/** @returns the text with `data/PATH` in place of each address of a served file */
export function withoutToken(text: string): string {
  return text.replace(SERVED, "data");
}
