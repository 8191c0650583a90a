/** Objects that are called as functions: Python's `__call__`. No code is made from text. */

type Call = (...args: never[]) => unknown;

/** A class that extends it has instances which are the given function, with the class's fields and methods. */
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

/** Instances have what functions have, `bind` and `call` too. */
function functions<C extends new (...args: never[]) => object>(made: C): C {
  Object.setPrototypeOf(made.prototype, Function.prototype);
  return made;
}
