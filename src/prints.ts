/** How public objects look in consoles. Those of browsers show own fields and the name of the class; the others ask methods for a text. */

/** A console's own way to show a value. */
type Inspect = (value: unknown, options: object) => string;

/** A text that consoles show as it is, without quotes. */
export class Word {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Objects of a class are shown as its name, which bundlers may have changed, and these fields. */
export function printsAs<T extends object>({ prototype }: { readonly prototype: T }, name: string, fields: (object: T) => object): void {
  printsText(prototype, name, (object, inspect, options) => `${name} ${inspect(fields(object), options)}`);
}

function printsText<T extends object>(prototype: T, name: string, text: (object: T, inspect: Inspect, options: object) => string): void {
  const shown = (object: T, inspect: Inspect, options: object) => {
    try {
      return text(object, inspect, options);
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
  Object.defineProperty(prototype, Symbol.for("nodejs.util.inspect.custom"), { value: node });
  Object.defineProperty(prototype, Symbol.for("Deno.customInspect"), { value: deno });
}

printsText(Word.prototype, "Word", ({ text }) => text);
