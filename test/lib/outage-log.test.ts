import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createOutageLog } from '../../src/lib/observe/outage-log.ts'

const open = () => {
  const lines: { msg: string; fault?: string; failures?: number; downMs?: number }[] = []
  let at = 0
  const outages = createOutageLog({
    log: pino({ level: 'info', base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) }),
    down: 'down',
    up: 'up',
    now: () => at,
  })
  return {
    outages,
    wait: (ms: number) => {
      at += ms
    },
    raw: () => lines.splice(0),
    lines: () => lines.splice(0).map(({ msg, fault, failures }) => [msg, fault, failures]),
  }
}

test('an outage is logged at its first failure, then every 10 s with the number of failures, and when it ends', () => {
  const { outages, wait, lines } = open()
  for (let second = 0; second < 25; second += 1, wait(1_000)) outages.failed(new Error('refused'))
  expect(lines()).toEqual([
    ['down', 'refused', 1],
    ['down', 'refused', 10],
    ['down', 'refused', 10],
  ])
  expect(outages.isDown()).toBe(true)
  outages.worked()
  outages.worked()
  expect(lines()).toEqual([['up', undefined, 4]])
  expect(outages.isDown()).toBe(false)
})

test('at most three different faults are logged in 10 s', () => {
  const { outages, wait, lines } = open()
  for (let fault = 0; fault < 100; fault += 1, wait(99)) outages.failed(new Error(`fault ${fault}`))
  expect(lines()).toEqual([
    ['down', 'fault 0', 1],
    ['down', 'fault 1', 1],
    ['down', 'fault 2', 1],
  ])
})

test('a service that fails every other request stays down and logs only one line', () => {
  const { outages, wait, lines } = open()
  for (let request = 0; request < 90; request += 1, wait(100)) {
    if (request % 2 === 0) outages.failed(new Error('refused'))
    else outages.worked()
  }
  expect(lines()).toHaveLength(1)
  expect(outages.isDown()).toBe(true)
})

test('outages with the same fault within 10 s are logged once', () => {
  const { outages, wait, lines } = open()
  for (let outage = 0; outage < 4; outage += 1, wait(1_000)) {
    outages.failed(new Error('short'))
    wait(1_500)
    outages.worked()
  }
  expect(lines()).toEqual([
    ['down', 'short', 1],
    ['up', undefined, 0],
  ])
  wait(10_000)
  outages.failed(new Error('again'))
  expect(lines()).toEqual([['down', 'again', 4]])
})

test('an outage lasts from its first failure to its last one', () => {
  const { outages, wait, raw } = open()
  for (let second = 0; second < 3; second += 1, wait(1_000)) outages.failed(new Error('refused'))
  wait(5_000)
  outages.worked()
  expect(raw().at(-1)).toMatchObject({ msg: 'up', downMs: 2_000 })
})
