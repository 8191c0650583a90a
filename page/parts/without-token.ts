/** Texts without the token of `serve-page`: who has it can read the files, and a screenshot of an error goes anywhere. */

/** The address of the served folder, whole or from its token on, also where its slashes are encoded. */
const SERVED = /(?:https?:\/\/[^\s/"'<>]+)?(?:\/|%(?:25)*2F)[\w-]{43}(?:\/|%(?:25)*2F)data(?![\w-])/gi;

/** @returns the text, in which served files are named as `data/PATH` */
export function withoutToken(text: string): string {
  return text.replace(SERVED, "data");
}
