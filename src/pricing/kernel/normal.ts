/*
 * Rational Chebyshev approximations of erf and erfc by W. J. Cody, "Rational Chebyshev approximations for the error
 * function", Math. Comp. 23 (1969) 631-637. Coefficients run from the constant term up.
 */

const polynomial = (coefficients: readonly number[], x: number): number =>
  coefficients.reduceRight((sum, coefficient) => sum * x + coefficient, 0)

/** erf on |x| <= 0.46875, in x². */
const ERF_P = [3209.3775891384694, 377.485237685302, 113.86415415105016, 3.1611237438705655, 0.18577770618460315]
const ERF_Q = [2844.236833439171, 1282.6165260773723, 244.02463793444417, 23.601290952344122, 1]

/** erfc·e^{x²} on 0.46875 < x <= 4, in x. */
const MIDDLE_P = [
  1230.3393547979972, 2051.0783778260716, 1712.0476126340707, 881.952221241769, 298.6351381974001, 66.11919063714163,
  8.883149794388377, 0.5641884969886701, 2.1531153547440383e-8,
]
const MIDDLE_Q = [
  1230.3393548037495, 3439.3676741437216, 4362.619090143247, 3290.7992357334597, 1621.3895745666903, 537.1811018620099,
  117.6939508913125, 15.744926110709835, 1,
]

/** The correction to 1/√π of x·erfc·e^{x²} on x > 4, in x⁻². */
const TAIL_P = [
  0.0006587491615298378, 0.016083785148742275, 0.12578172611122926, 0.36034489994980445, 0.30532663496123236,
  0.016315387137302097,
]
const TAIL_Q = [
  0.0023352049762686918, 0.06051834131244132, 0.5279051029514285, 1.8729528499234673, 2.568520192289822, 1,
]

const INVERSE_SQRT_PI = 0.5641895835477563

/** Above this argument erfc is smaller than the smallest double. */
const UNDERFLOW = 27.3

/** e^{-x²} without the rounding error of x²: the square is split into an exact part and a small remainder. */
const expOfMinusSquare = (x: number): number => {
  const exact = Math.trunc(x * 16) / 16
  return Math.exp(-exact * exact) * Math.exp(-(x - exact) * (x + exact))
}

/** erfc on x > 0.46875. */
const upperTail = (x: number): number => {
  if (x > UNDERFLOW) return 0
  if (x <= 4) return (expOfMinusSquare(x) * polynomial(MIDDLE_P, x)) / polynomial(MIDDLE_Q, x)
  const square = 1 / (x * x)
  const correction = (square * polynomial(TAIL_P, square)) / polynomial(TAIL_Q, square)
  return (expOfMinusSquare(x) * (INVERSE_SQRT_PI - correction)) / x
}

/**
 * The complementary error function to full double precision, relative in the upper tail too.
 *
 * @internal
 */
export const erfc = (x: number): number => {
  const size = Math.abs(x)
  if (size <= 0.46875) {
    const square = x * x
    return 1 - (x * polynomial(ERF_P, square)) / polynomial(ERF_Q, square)
  }
  return x > 0 ? upperTail(size) : 2 - upperTail(size)
}

/**
 * The standard normal distribution N(x) to full double precision. For an upper tail use `normalCdf(-x)`, because `1 -
 * normalCdf(x)` loses its significant digits.
 */
export const normalCdf = (x: number): number => erfc(-x * Math.SQRT1_2) / 2
