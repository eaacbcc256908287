import type { Faults } from '../fault.ts'

export const sandboxFaults: Faults = {
  'src/sandbox/progress.ts': {
    tests: ['test/sandbox/progress.test.ts'],
    faults: [
      ['Date.now() - printedAt < SILENT_MS', 'Date.now() - printedAt < 2 * SILENT_MS'],
      ['    printedAt = Date.now()\n', ''],
      ['        running.delete(what)\n', ''],
      ['        show(what, since)\n', ''],
      ['close: () => clearInterval(timer)', 'close: () => {}'],
    ],
  },
  'src/sandbox/parts/held-output.ts': {
    tests: ['test/sandbox/progress.test.ts'],
    faults: [
      ['held.length > MOST_HELD', 'held.length >= MOST_HELD'],
      ['held.shift()', 'held.pop()'],
      ['if (held === null) print(text)', 'if (held !== null) print(text)'],
      ['    open(): void {\n      held = null', '    open(): void {\n      held = []'],
      ['      for (const text of held ?? []) print(text)\n', ''],
    ],
  },
  'src/sandbox/env-file.ts': {
    tests: ['test/sandbox/env-file.test.ts'],
    faults: [
      ['/^[\\w@%+:,./=-]*$/', '/^[^]*$/'],
      ['value.includes("\'") ?', '!value.includes("\'") ?'],
      ['{ mode: 0o600 }', '{ mode: 0o644 }'],
      ['{quoted(value)}', '{value}'],
    ],
  },
  'src/sandbox/story/random.ts': {
    tests: ['test/sandbox/random.test.ts'],
    faults: [
      ['(max - min + 1)', '(max - min)'],
      ['list[int(0, list.length - 1)]', 'list[int(0, list.length)]'],
      ["if (chosen === undefined) throw new RangeError('cannot pick from an empty list')\n", ''],
    ],
  },
  'src/sandbox/parts/ports.ts': {
    tests: ['test/sandbox/ports.service.test.ts'],
    faults: [
      ['port !== 0 && it.port === port', 'it.port === port'],
      ['  if (port === 0) return listenAnywhere(host)\n', ''],
      ['if (isTaken(cause)) throw new PortTakenError(port, variable, { cause })', ''],
      ['Number(a.port === 0) - Number(b.port === 0)', 'Number(b.port === 0) - Number(a.port === 0)'],
      ['ports[wanted.indexOf(each)] = port', 'ports.push(port)'],
      ['    for (const server of servers) server.close()\n    await Promise.all', '    void Promise.all'],
      ['const MOST_PORTS = 5', 'const MOST_PORTS = 4'],
      ['left === 1 || !reportsTaken(errorText(fault))', 'left === 1'],
    ],
  },
  'src/sandbox/story/accounts.ts': {
    tests: ['test/sandbox/summary.test.ts'],
    faults: [
      ['oracles: range(1, 3)', 'oracles: range(1, 2)'],
      ['users: range(4, 9)', 'users: range(3, 9)'],
      ['to - from + 1', 'to - from'],
      ['engine: wallet(16)', 'engine: wallet(15)'],
    ],
  },
  'src/sandbox/summary.ts': {
    tests: ['test/sandbox/summary.test.ts'],
    faults: [
      ['chains.at(-1)?.chainId', 'chains.at(0)?.chainId'],
      ["'owner, oracle admin'", "'owner'"],
      ['...notes.map(', '...notes.slice(1).map('],
      ["types=wallet&limit=3'`", 'types=wallet&limit=3`'],
      ['/v1/plans/buy-protection', '/v1/plans/buy'],
    ],
  },
}
