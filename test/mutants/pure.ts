/** Pure code, which Stryker changes, and the tests near it. Other code, and lines that no pure test runs, has lists. */
export const pure: readonly { readonly code: readonly string[]; readonly tests: readonly string[] }[] = [
  // The tables of reverts are texts.
  {
    code: ['src/protocol/*.ts', 'src/protocol/reverts/decode.ts'],
    tests: ['test/protocol/*.test.ts'],
  },
]
