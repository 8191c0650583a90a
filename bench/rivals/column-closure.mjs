/**
 * Creates the ring of column-ring.mjs in a form that only supports appending: returns a function that appends a step. The arrays are variables of a closure,
 * which engines access faster than fields of an object. This shows the minimum cost of appending a step in JavaScript.
 */
export function columnClosure(capacity) {
  const observations = new Float32Array(4 * capacity);
  const actions = new Int32Array(capacity);
  const rewards = new Float32Array(capacity);
  const discounts = new Float32Array(capacity);
  const stepTypes = new Int32Array(capacity);
  let head = 0;
  return (o0, o1, o2, o3, action, reward, discount, stepType) => {
    const o = 4 * head;
    observations[o] = o0;
    observations[o + 1] = o1;
    observations[o + 2] = o2;
    observations[o + 3] = o3;
    actions[head] = action;
    rewards[head] = reward;
    discounts[head] = discount;
    stepTypes[head] = stepType;
    head = head + 1 === capacity ? 0 : head + 1;
    return head;
  };
}
