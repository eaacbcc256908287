/** For a change that no caller can see, and for one that is in effect only where the runner does not look. */
const reasons = {
  typed: 'the compiler asks for it: the value always is there',
  thrown: 'what follows throws for such a value, with the same result',
  described: 'runs while the module is loaded: test/api/openapi compares the description',
  loaded: 'runs while the module is loaded: without it no test begins, which the runner takes for a success',
} as const

/**
 * Changes of Stryker that do not count, with the reason: by file, and by the code and what replaces it, as the report
 * shows them.
 */
export const uncounted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'src/protocol/reverts/decode.ts': {
    'functionName !== undefined => true': 'no row has a function without a name',
    'offset === null => false': reasons.typed,
    'length === null => false': reasons.typed,
    'error === undefined => false': reasons.typed,
    'row === undefined => false': reasons.typed,
    'row === undefined || error === undefined => row === undefined && error === undefined': reasons.typed,
    'rowsByReason.get(reason) ?? [] => rowsByReason.get(reason) && []': reasons.loaded,
    '[...rowsByReason.keys()] => [...rowsByReason.keys()]': reasons.loaded,
    '(reason) => [toFunctionSelector(reason), reason] => () => undefined': reasons.loaded,
  },
  'src/reads/activity/records.ts': {
    'z.int().min(0).max(255) => z.int().min(0).min(255)': reasons.described,
    'z.int().min(0) => z.int().max(0)': reasons.described,
    'true => false': reasons.described,
  },
  'src/reads/entities/entity.ts': {
    'view === undefined => false': reasons.typed,
    'outcome?.ok => outcome.ok': reasons.typed,
  },
  'src/reads/freshness/waits.ts': {
    'true => false': 'the listener is removed when the wait ends, and a signal aborts once',
  },
  'src/tx/signed-call.ts': {
    'v + 1n => v - 1n': 'both have one parity',
    'first < 0xc0 => first <= 0xc0': 'an empty list is no transaction, and no type is 0xc0',
    'input == null => false': reasons.thrown,
    'v === undefined || r === undefined || s === undefined => false': reasons.thrown,
    'v === undefined || r === undefined || s === undefined => (v === undefined || r === undefined) && s === undefined':
      reasons.thrown,
    'v === undefined || r === undefined => false': reasons.thrown,
    'v === undefined || r === undefined => v === undefined && r === undefined': reasons.thrown,
    'v === undefined => false': reasons.thrown,
    'r === undefined => false': reasons.thrown,
    's === undefined => false': reasons.thrown,
    'content === undefined => false': reasons.thrown,
    'fields[layout.count - 4]?.end => fields[layout.count - 4].end': reasons.typed,
  },
}
