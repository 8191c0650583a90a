/**
 * Controls how public objects appear in consoles. Browser consoles show own fields and the name of the class. Other consoles call a method that returns a
 * string. esbuild renames a class that refers to itself by name, so classes use `this` for that.
 */

/** The function that a console passes to format a nested value. */
type InspectFunction = (value: unknown, options: object) => string;

/** A string that consoles print without quotes. */
export class PlainText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Makes consoles print objects of a class as `name` and the result of `fields`, with all nested values. In Node, an object below the console's depth limit is
 * printed only as `[name]`. The name is an argument because bundlers may rename the class.
 */
export function customInspect<T extends object>({ prototype }: { readonly prototype: T }, name: string, fields: (object: T) => object): void {
  const format = (object: T, inspect: InspectFunction, options: object) => {
    try {
      return `${name} ${inspect(fields(object), { ...options, depth: Number.POSITIVE_INFINITY })}`;
    } catch {
      // `fields` failed because the object is a proxy, which has no private fields.
      return `[${name}]`;
    }
  };
  const node = function (this: T, depth: number, options: object, inspect: InspectFunction) {
    return depth < 0 ? `[${name}]` : format(this, inspect, options);
  };
  const deno = function (this: T, inspect: InspectFunction, options: object) {
    return format(this, inspect, options);
  };
  defineInspect(prototype, node, deno);
}

function defineInspect(prototype: object, node: (...args: never[]) => string, deno: (...args: never[]) => string): void {
  Object.defineProperty(prototype, Symbol.for("nodejs.util.inspect.custom"), { value: node });
  Object.defineProperty(prototype, Symbol.for("Deno.customInspect"), { value: deno });
}

function plainText(this: PlainText): string {
  return this.text;
}
defineInspect(PlainText.prototype, plainText, plainText);
