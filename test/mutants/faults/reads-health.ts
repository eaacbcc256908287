import type { Faults } from '../fault.ts'

const tests = ['test/reads/health.test.ts', 'test/reads/status.test.ts']

export const healthFaults: Faults = {
  'src/reads/health/health.ts': {
    tests,
    faults: [
      ['heartbeat.ageSeconds <= WORKER_SILENT_SECONDS', 'heartbeat.ageSeconds < WORKER_SILENT_SECONDS'],
      ['secondsBehind(heartbeat.proven, heartbeat.head)', 'secondsBehind(heartbeat.head, heartbeat.proven)'],
      ['if (lagSeconds > maxLagSeconds) throw', 'if (lagSeconds >= maxLagSeconds) throw'],
      [
        'indexed === null || lagSeconds === null)\n',
        'indexed === null)\n',
        'Without a heartbeat it has thrown before.',
      ],
      ['startBlockFault(deployment, heartbeat.head.number) ?? ', ''],
      [
        'readiness(deployment, await sources.healthOf(chainId), sources.maxLagSeconds)',
        'readiness(deployment, await sources.healthOf(chainId), 60)',
      ],
      ["if (health === null) return 'unknown'", "if (health === null) return 'stuck'"],
      ['heartbeat.nodes.halted && lag === 0', 'heartbeat.nodes.halted'],
      ["if (heartbeat.problem !== null) return 'stuck'\n", ''],
      ['lag === null || lag > maxLagSeconds', 'lag === null || lag >= maxLagSeconds'],
      ['lag === null || lag > maxLagSeconds', 'lag !== null && lag > maxLagSeconds'],
      ["heartbeat === null || !isWorkerAlive(health)) return 'stuck'", "heartbeat === null) return 'stuck'"],
      ['audit.last.ageSeconds < ALARM_OF_DIFFERENCE_SECONDS', 'audit.last.ageSeconds <= ALARM_OF_DIFFERENCE_SECONDS'],
      ['feesContradiction === null\n', 'feesContradiction !== null\n'],
      [
        "age === null ? state === 'following' : age > ALARM_AFTER_SECONDS",
        "age === null ? state === 'following' : age >= ALARM_AFTER_SECONDS",
      ],
      ["age === null ? state === 'following' : age", 'age === null ? true : age'],
      ["if (!isLate || state === 'halted') return null", 'if (!isLate) return null'],
      [
        '(observations.oldestSeconds ?? 0) > ALARM_AFTER_SECONDS',
        '(observations.oldestSeconds ?? 0) >= ALARM_AFTER_SECONDS',
      ],
      ['(observations.oldestSeconds ?? 0) > ALARM', 'observations.waiting > ALARM'],
      ['heartbeat === null || heartbeat.nodes.hasLogs', 'heartbeat === null || !heartbeat.nodes.hasLogs'],
      ['?? []), ...faults]', '?? [])]'],
      ['from the chain.`, ...faults]', 'from the chain.`]'],
      ['adviceOf(chain.fault)', 'adviceOf(undefined)'],
    ],
  },
  'src/reads/health/status.ts': {
    tests,
    faults: [
      ['newest > ENDPOINT_LAGGING_SECONDS', 'newest >= ENDPOINT_LAGGING_SECONDS'],
      [' + BigInt(heightAgeSeconds ?? 0)', ''],
      ["rank === 'ok' && isBehind", 'isBehind'],
      ['heightAgeSeconds: heightAgeSeconds ?? null', 'heightAgeSeconds: null'],
      ['rounds: Number(audit.rounds)', 'rounds: Number(audit.compared)'],
      ['differences: Number(audit.differences)', 'differences: Number(audit.repaired)'],
      ['repaired: Number(audit.repaired)', 'repaired: Number(audit.differences)'],
      ['at: unixSeconds(audit.auditedAt)', 'at: unixSeconds(audit.roundAt ?? audit.auditedAt)'],
      [
        'lastDifferenceAt: audit.last && unixSeconds(audit.last.at)',
        'lastDifferenceAt: audit.last && unixSeconds(audit.auditedAt)',
      ],
      ["columnsBy('key', 'view', 'state')", "columnsBy('key', 'view')"],
      ["columnsBy('log', 'block', 'own')", "columnsBy('log', 'block')"],
      ['date.getTime() / 1_000', 'date.getTime()'],
      [
        'at: unixSeconds(stored.at), ageSeconds: Math.floor(stored.ageSeconds)',
        'at: unixSeconds(stored.at), ageSeconds: Math.ceil(stored.ageSeconds)',
      ],
      ['number: Number(stored.proven.number)', 'number: Number(stored.head.number)'],
      ['Number(health.indexed.number)', 'Number(stored?.head.number)'],
      ['Math.floor(queue.oldestSeconds)', 'Math.ceil(queue.oldestSeconds)'],
      ['transaction: health.upgrade.txHash', 'transaction: health.upgrade.blockHash'],
      [
        'worker: endpoints(stored?.nodes, stored?.head), api: endpoints(nodes, stored?.head)',
        'worker: endpoints(nodes, stored?.head), api: endpoints(stored?.nodes, stored?.head)',
      ],
      ['checks: [...checks]', 'checks: []'],
      ['source: stored?.source ?? null', "source: stored && 'logs'"],
    ],
  },
  'src/reads/health/metrics.ts': {
    tests: ['test/reads/health.test.ts'],
    faults: [
      ['(it) => it.indexed?.number', '(it) => it.heartbeat?.head.number'],
      ['(it) => it.observations.oldestSeconds ?? 0', '(it) => it.observations.oldestSeconds'],
      ['(it) => it.audit?.rounds', '(it) => it.audit?.compared'],
      ['(it) => it.audit?.repaired', '(it) => it.audit?.differences'],
      ['it.feesContradiction === null ? 0 : 1', 'it.feesContradiction === null ? 1 : 0'],
      ['Math.max(0, Number(start', 'Math.abs(Number(start'],
      ['(Date.now() - at.getTime()) / 1_000', 'Date.now() - at.getTime()'],
      ['value == null ? null : Number(value)', 'value == null ? 0 : Number(value)'],
      ['.catch(() => null)', ''],
      ['state === current ? 1 : 0', 'state === current ? 0 : 1'],
      ['stateOf(health, sources.maxLagSeconds)', 'stateOf(health, 0)'],
    ],
  },
  'src/reads/health/webhooks.ts': {
    tests: ['test/reads/health.test.ts'],
    faults: [
      ['failingSeconds >= ALARM_AFTER_SECONDS', 'failingSeconds > ALARM_AFTER_SECONDS'],
      ["state !== 'active' ||", "state === 'disabled' ||"],
      ['Math.floor(failingSeconds / 3_600)', 'Math.ceil(failingSeconds / 3_600)'],
      ["state === 'disabled' ?", "state === 'paused' ?"],
      ['failingSeconds: Math.floor(failingSeconds)', 'failingSeconds'],
      ['  endpoints,\n  waiting,', '  endpoints: waiting,\n  waiting: endpoints,'],
    ],
  },
}
