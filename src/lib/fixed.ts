/** The largest uint256. */
export const MAX_UINT256 = 2n ** 256n - 1n

/** The largest uint128. */
export const MAX_UINT128 = 2n ** 128n - 1n

/** `a * b / c`, rounded towards zero. All operands non-negative; throws a RangeError when `c` is zero. */
export const mulDivDown = (a: bigint, b: bigint, c: bigint): bigint => (a * b) / c

export const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)
export const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
