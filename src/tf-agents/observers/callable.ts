/** Creates objects that can be called as functions, like Python objects with `__call__`. */

type Call = (...args: never[]) => unknown;

/**
 * A base class whose instances are functions. An instance is the function that is passed to the constructor, with the fields and methods of the class. No code
 * is compiled from text.
 */
export const Callable = functions(
  class {
    constructor(call: Call) {
      // biome-ignore lint/correctness/noConstructorReturn: that is what makes the object a function
      return Object.setPrototypeOf(call, new.target.prototype);
    }
  },
) as unknown as new <F extends Call>(
  call: F,
) => F;

/** Adds the methods of functions, such as `bind` and `call`, to the instances of a class. */
function functions<C extends new (...args: never[]) => object>(target: C): C {
  Object.setPrototypeOf(target.prototype, Function.prototype);
  return target;
}
