/** JSON as Python writes it: NaN and Infinity may stand in it as words, and become strings. @throws SyntaxError */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const words = text.replace(/"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g, (found) => (found.startsWith('"') ? found : `"${found}"`));
    if (words === text) throw error;
    return JSON.parse(words);
  }
}
