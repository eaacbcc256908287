/** Pure code, which Stryker changes, and the tests near it. Other code, and lines that no pure test runs, has lists. */
export const pure: readonly { readonly code: readonly string[]; readonly tests: readonly string[] }[] = [
  // The tables of reverts are texts.
  { code: ['src/protocol/*.ts', 'src/protocol/reverts/decode.ts'], tests: ['test/protocol/*.test.ts'] },
  {
    code: ['src/api/response-cache/*.ts'],
    tests: ['test/api/response-cache/*.test.ts', 'test/api/response-cache-*.test.ts'],
  },
  { code: ['src/lib/*.ts'], tests: ['test/lib/*.test.ts'] },
  { code: ['src/plans/**/*.ts'], tests: ['test/plans/*.test.ts'] },
  { code: ['src/reads/**/*.ts'], tests: ['test/reads/**/*.test.ts'] },
  { code: ['src/tx/*.ts'], tests: ['test/tx/*.test.ts'] },
  { code: ['src/webhooks/*.ts'], tests: ['test/webhooks/*.test.ts'] },
  { code: ['client/src/**/*.ts'], tests: ['test/client/*.test.ts'] },
]
