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
      ['const isBelieved = having.length > lacking.length', 'const isBelieved = having.length >= lacking.length'],
      ['const isBelieved = having.length > lacking.length', 'const isBelieved = lacking.length === 0'],
      ['isBelieved ? lacking : having', '!isBelieved ? lacking : having'],
      ['having.length < lacking.length ? having', 'having.length <= lacking.length ? having'],
      ['having.length < lacking.length ? having : []', '[]'],
      ["if (noneExists([record])) return 'denies'", "if (!exists(record)) return 'denies'"],
      ["record.error.fault.kind !== 'missing'", 'false'],
      ["record.error.fault.kind !== 'missing'", 'true'],
      ["isLagging ? null : 'late'", "'late'"],
      ["isLagging ? null : 'late'", 'null'],
      [', LATE_SECONDS)', ')'],
      ["  if (exists(newest)) return 'has'\n", ''],
      ["having >= quorum(chain) && having > those('denies').length", 'having >= quorum(chain)'],
      ["having >= quorum(chain) && having > those('denies').length", "having > those('denies').length"],
      ["having >= quorum(chain) && having > those('denies').length", 'false'],
      ["having > 0 && those('late').length > 0", "those('late').length > 0"],
      ["having > 0 && those('late').length > 0", 'having > 0'],
      ['if (!isWaiting() || now() >= until) break', 'if (!isWaiting() || now() > until) break'],
      ['if (!isWaiting() || now() >= until) break', 'break'],
      [
        '    for (const { endpoint, outcomes } of all) {\n',
        '    answers.clear()\n    for (const { endpoint, outcomes } of all) {\n',
      ],
      ["isWaiting() ? those('denies', 'late') : those('denies')", "those('denies')"],
      ["isWaiting() ? those('denies', 'late') : those('denies')", "those('denies', 'late')"],
      ["having.length === 0 ? 'no node'", "having.length === 1 ? 'no node'"],
      ["if (those('denies').length > 0) return", "if (those('denies').length > 1) return"],
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
