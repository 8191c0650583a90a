/** Objects that are called as functions: Python's `__call__`. No code is made from text. */

type Call = (...args: never[]) => unknown;

/** A class that extends it has instances which are the given function, with the class's fields and methods. */
export const Callable = class {
  constructor(call: Call) {
    // biome-ignore lint/correctness/noConstructorReturn: that is what makes the object a function
    return Object.setPrototypeOf(call, new.target.prototype);
  }
} as unknown as new <F extends Call>(
  call: F,
) => F;
