import type { Faults } from '../fault.ts'

const tests = ['test/indexer/audit-decisions.test.ts']

export const auditFaults: Faults = {
  'src/indexer/agreement.ts': {
    tests: [
      ...tests,
      'test/indexer/agreement.test.ts',
      'test/indexer/dispute.test.ts',
      'test/indexer/finalize.service.test.ts',
      'test/indexer/repair.service.test.ts',
    ],
    faults: [
      ['before?.of === of && before.since <= now', 'before != null && before.since <= now'],
      ['before?.of === of && before.since <= now', 'before?.of === of'],
      ['answers.length < quorum', 'answers.length <= quorum'],
      ['answers.length < quorum(chain)', 'answers.length < 1'],
      ['Math.min(2, chain.status().endpoints.length)', '1'],
      ['Math.min(2, chain.status().endpoints.length)', '2'],
      ['Math.min(2, chain.status().endpoints.length)', 'chain.status().endpoints.length'],
      ['others.every((other)', 'others.some((other)'],
      ['if (having.length > lacking.length) return null', 'if (having.length >= lacking.length) return null'],
      ['if (having.length > lacking.length) return null', 'if (lacking.length === 0) return null'],
      ['having.length > lacking.length ? lacking', 'having.length >= lacking.length ? lacking'],
      ['having.length < lacking.length ? having', 'having.length <= lacking.length ? having'],
      ['having.length < lacking.length ? having : []', '[]'],
      ['noneExists([outcome])', '!exists(outcome)'],
      ["outcome.error.fault.kind === 'missing'", 'true'],
      ["outcome.error.fault.kind === 'missing'", 'false'],
      ['having.length >= quorum(chain) && having.length > denying.length', 'having.length >= quorum(chain)'],
      ['having.length >= quorum(chain) && having.length > denying.length', 'having.length > denying.length'],
      ['having.length >= quorum(chain) && having.length > denying.length', 'false'],
      ['without.length > 0 && !isCertain() && now() < until', 'without.length > 0 && now() < until'],
      ['without.length > 0 && !isCertain() && now() < until', '!isCertain() && now() < until'],
      ['now() < until', 'false'],
      ['now() < until', 'now() <= until'],
      ['isCertain() ? denying : [...denying, ...without]', 'denying'],
      ['isCertain() ? denying : [...denying, ...without]', '[...denying, ...without]'],
      ['return denying.length > 0', 'return denying.length > 1'],
    ],
  },
  'src/indexer/audit/repair.ts': {
    tests,
    faults: [
      ["if (second === undefined) return 'open'\n", "if (second == null) return 'open'\n"],
      [
        "if (differencesOfFact(entity, row, second).length === 0) return 'withdrawn'",
        "if (differencesOfFact(entity, row, record).length === 0) return 'withdrawn'",
      ],
      [
        'record !== null && second !== null && differencesOfFact(entity, factRow(record), second).length === 0',
        'second !== null && differencesOfFact(entity, factRow(record), second).length === 0',
        'A comparison with no row differs, so the verdict is the same.',
      ],
      [
        'record !== null && second !== null && differencesOfFact(entity, factRow(record), second).length === 0',
        'record !== null && second !== null',
      ],
      [
        'record !== null && second !== null && differences',
        'record !== null && differences',
        'A comparison with no row differs, so the verdict is the same.',
      ],
      ['record.ok || isRevert(record.error)', 'record.ok'],
      ['record.ok || isRevert(record.error)', 'true'],
      ['if (isUnavailable(fault)) return undefined\n', ''],
      ['if (isUnavailable(fault)) return undefined\n', 'return undefined\n'],
    ],
  },
  'src/indexer/audit/confirm.ts': {
    tests: [...tests, 'test/indexer/audit-confirm.test.ts'],
    faults: [
      ['chain: withoutCache(deps.chain)', 'chain: deps.chain'],
      ['attempt >= ATTEMPTS', 'attempt > ATTEMPTS'],
      ['attempt >= ATTEMPTS || !isUnavailable(fault)', 'attempt >= ATTEMPTS'],
      ['if (first.differences.length === 0) return first\n', ''],
      ['await sleep(deps.pauseMs)\n  return withRetries(deps, work)', 'await sleep(deps.pauseMs)\n  return work()'],
      ['await sleep(deps.pauseMs)\n  return withRetries(deps, work)', 'await sleep(deps.pauseMs)\n  return first'],
    ],
  },
  'src/indexer/audit/format.ts': {
    tests,
    faults: [
      ['PRINTED = 20', 'PRINTED = 21'],
      ['found > PRINTED ?', 'found >= PRINTED ?'],
      ['found - PRINTED', 'differences.length - PRINTED'],
      ['firstBlock.number === block.number', 'firstBlock.number !== block.number'],
      ['it.startsWith(`$', 'it.includes(`$', 'No description of another table has the name and a space within.'],
      ["list('not compared', notCompared)", "list('not compared', unconfirmed)"],
      ["found === 0 ? 'no differences'", "differences.length > 0 ? 'no differences'"],
    ],
  },
}
