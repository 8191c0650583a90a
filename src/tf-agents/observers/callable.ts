/** Makes objects that are called as functions, like Python objects with `__call__`. */

type Call = (...args: never[]) => unknown;

/**
 * A base class whose instances are functions. An instance is the given function with the fields and methods of the class. The class does not compile code from
 * text.
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

/** Adds the methods of functions to instances, including `bind` and `call`. */
function functions<C extends new (...args: never[]) => object>(target: C): C {
  Object.setPrototypeOf(target.prototype, Function.prototype);
  return target;
}
