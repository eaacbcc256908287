import { expect, test } from 'vitest'
import { inTurns } from '../../src/plans/in-turns.ts'
import { BLOCK, planChain, WALLET } from '../support/plan-chain.ts'

const sequence = { from: WALLET, calls: [], blockHash: BLOCK.hash, time: 1n, overrides: {} }

/** A chain in turns that a test gives, and what happened. */
const open = () => {
  const happened: string[] = []
  const turns: (() => void)[] = []
  const { chain } = planChain()
  const options: unknown[] = []
  const recorded = {
    ...chain,
    send: ((batch, given) => {
      options.push(given)
      return chain.send(batch, given)
    }) as typeof chain.send,
  }
  const turn = () => new Promise<void>((resolve) => turns.push(resolve))
  const next = async () => {
    while (turns.length === 0) await new Promise(setImmediate)
    happened.push('turn')
    turns.shift()?.()
  }
  return { happened, options, next, turned: inTurns(recorded, turn) }
}

test.each([
  ['an answer', 'send'],
  ['a simulation', 'simulateSequence'],
  ['a block', 'pinned'],
] as const)('%s is handled in a turn of its own', async (_, what) => {
  const { happened, next, turned } = open()
  const handled = () => void happened.push('handled')
  const work = {
    send: () => turned.send({}).then(handled),
    simulateSequence: () => turned.simulateSequence(sequence, {}).then(handled),
    pinned: () => turned.pinned(async () => handled()),
  }[what]()
  await new Promise(setImmediate)
  expect(happened).toEqual([])
  await next()
  await work
  expect(happened).toEqual(['turn', 'handled'])
})

test('the options of a request are passed on', async () => {
  const { next, options, turned } = open()
  const signal = new AbortController().signal
  const sent = turned.send({}, { signal })
  await next()
  await sent
  expect(options).toEqual([{ signal }])
})

test('a failure is that of the chain', async () => {
  const { turned } = open()
  const failing = inTurns({ ...turned, send: () => Promise.reject(new Error('no node')) }, () => Promise.resolve())
  await expect(failing.send({})).rejects.toThrow('no node')
})
