/** Computes the p-value of counts under given probabilities with a chi-square test. */

/** Computes ln Γ(x) with Lanczos' approximation. */
function logGamma(x: number): number {
  const series = [76.18009172947146, -86.50532032941678, 24.01409824083091, -1.231739572450155, 0.001208650973866179, -0.000005395239384953].reduce(
    (sum, c, i) => sum + c / (x + 1 + i),
    1.000000000190015,
  );
  return (x + 0.5) * Math.log(x + 5.5) - (x + 5.5) + Math.log((2.5066282746310007 * series) / x);
}

/** Computes the upper incomplete gamma function Q(a, x): with its series below a + 1, otherwise with its continued fraction. */
function upperGamma(a: number, x: number): number {
  if (x <= 0) return 1;
  const scale = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; term > sum * 1e-15; n++) {
      term *= x / (a + n);
      sum += term;
    }
    return 1 - sum * scale;
  }
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let fraction = d;
  for (let n = 1; n < 10_000; n++) {
    const an = n * (a - n);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-14) break;
  }
  return fraction * scale;
}

/** Returns the p-value: the probability of counts that are at least as far from the expected counts. It is 0 if an outcome of probability 0 has a count. */
export function chiSquare(counts: readonly number[], probabilities: readonly number[]): number {
  const draws = counts.reduce((sum, count) => sum + count, 0);
  let statistic = 0;
  let categories = 0;
  for (const [i, count] of counts.entries()) {
    const expected = draws * (probabilities[i] as number);
    if (expected === 0) {
      if (count > 0) return 0;
      continue;
    }
    if (expected < 5) throw new Error(`${draws} draws are too few: category ${i} is expected ${expected} times`);
    statistic += (count - expected) ** 2 / expected;
    categories++;
  }
  return upperGamma((categories - 1) / 2, statistic / 2);
}
