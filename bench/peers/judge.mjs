/** Checks a run against the thresholds. */

/** Returns the other variant's value of a measure divided by ours. For `ns`, this is the number of our operations in the time of one of the other variant. */
const ratioOf = (ours, other, of = "ns") => other[of] / ours[of];

/** Returns the fastest variant of a library, except those that are marked `apart` or were skipped. */
export function best(variants) {
  const counted = variants.filter(({ side, apart, skipped }) => side === "peer" && apart === undefined && skipped === undefined);
  return counted.sort((a, b) => a.ns - b.ns)[0];
}

/** Returns the variant that a threshold names, or the best library for `peers`. If the variant ran with both settings of malloc, the faster run counts. */
function named(variants, to) {
  if (to === "peers") return best(variants);
  return variants.filter(({ name, skipped }) => skipped === undefined && (name === to || name === `${to}, pages kept`)).sort((a, b) => a.ns - b.ns)[0];
}

/**
 * Returns each threshold of the workloads that ran, the measured value, and whether the threshold is met. A threshold that could not be measured is not met.
 * @returns {{ workload: string, ours: string, to: string, wanted: string, found: string, holds: boolean }[]}
 */
export function judged(workloads, thresholds) {
  return thresholds.flatMap((threshold) => {
    const workload = workloads.find(({ name }) => name === threshold.workload);
    return workload === undefined ? [] : [{ ...threshold, ...verdict(workload.variants, threshold) }];
  });
}

function verdict(variants, { ours, to, of, least, most }) {
  const own = variants.find(({ name }) => name === ours);
  const wanted = most === undefined ? `${least} ×` : `${of}: at most ${most}`;
  if (own?.skipped !== undefined || own === undefined) return { wanted, found: own?.skipped ?? "not measured", holds: false };
  if (most !== undefined) return { wanted, found: String(own[of]), holds: own[of] <= most };
  const other = named(variants, to);
  if (other === undefined) return { wanted, found: `nothing of ${to} was measured`, holds: false };
  const ratio = ratioOf(own, other, of);
  return { wanted, ratio, found: `${ratio.toPrecision(3)} × ${other.name}`, holds: ratio >= least };
}
