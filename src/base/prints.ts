/**
 * How public objects look in consoles. Those of browsers show own fields and the name of the class, which esbuild changes where the class names itself: `this` stands
 * for it there. The others ask methods for a text.
 */

/** A console's own way to show a value. */
type Inspect = (value: unknown, options: object) => string;

/** A text that consoles show as it is, without quotes. */
export class Word {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Getters that `for … in` and assertions see, as they see fields. */
export function showAll({ prototype }: { readonly prototype: object }, names: readonly string[]): void {
  for (const name of names) Object.defineProperty(prototype, name, { enumerable: true });
}

/** Objects of a class are shown as its name, which bundlers may have changed, and these fields, however deep they nest: they are few. */
export function printsAs<T extends object>({ prototype }: { readonly prototype: T }, name: string, fields: (object: T) => object): void {
  const shown = (object: T, inspect: Inspect, options: object) => {
    try {
      return `${name} ${inspect(fields(object), { ...options, depth: Number.POSITIVE_INFINITY })}`;
    } catch {
      // A proxy: it has no private fields.
      return `[${name}]`;
    }
  };
  const node = function (this: T, depth: number, options: object, inspect: Inspect) {
    return depth < 0 ? `[${name}]` : shown(this, inspect, options);
  };
  const deno = function (this: T, inspect: Inspect, options: object) {
    return shown(this, inspect, options);
  };
  ask(prototype, node, deno);
}

function ask(prototype: object, node: (...args: never[]) => string, deno: (...args: never[]) => string): void {
  Object.defineProperty(prototype, Symbol.for("nodejs.util.inspect.custom"), { value: node });
  Object.defineProperty(prototype, Symbol.for("Deno.customInspect"), { value: deno });
}

function itself(this: Word): string {
  return this.text;
}
ask(Word.prototype, itself, itself);
