import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

/** Work that lasts until `end`. */
const createWork = (name: string, began: string[]) => {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const run = (): Promise<void> => {
    began.push(name)
    return ended
  }
  return { end, run }
}

const open = () => {
  const began: string[] = []
  return { began, turns: createTurns(), work: (name: string) => createWork(name, began) }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

test('calls run at once, and a miner waits for those before it only', async () => {
  const { began, turns, work } = open()
  const [first, second, block, third] = [work('first'), work('second'), work('block'), work('third')]
  turns.ask(first.run)
  turns.ask(second.run)
  turns.mine(block.run)
  turns.ask(third.run)
  await settle()
  expect(began).toEqual(['first', 'second'])
  first.end()
  await settle()
  expect(began).toEqual(['first', 'second'])
  second.end()
  await settle()
  expect(began).toEqual(['first', 'second', 'block'])
  block.end()
  await settle()
  expect(began).toEqual(['first', 'second', 'block', 'third'])
})

test('a call is not kept waiting by miners that follow each other', async () => {
  const { began, turns, work } = open()
  const [block, call, next] = [work('block'), work('call'), work('next')]
  turns.mine(block.run)
  turns.ask(call.run)
  turns.mine(next.run)
  block.end()
  await settle()
  expect(began).toEqual(['block', 'call'])
  call.end()
  await settle()
  expect(began).toEqual(['block', 'call', 'next'])
})

test('miners run one after the other', async () => {
  const { began, turns, work } = open()
  const [block, next] = [work('block'), work('next')]
  turns.mine(block.run)
  turns.mine(next.run)
  await settle()
  expect(began).toEqual(['block'])
  block.end()
  await settle()
  expect(began).toEqual(['block', 'next'])
})

test('work that fails ends its turn', async () => {
  const { began, turns, work } = open()
  const fails = (reason: string) => () => Promise.reject(new Error(reason))
  await expect(turns.mine(fails('no block'))).rejects.toThrow('no block')
  await expect(turns.ask(fails('no answer'))).rejects.toThrow('no answer')
  turns.mine(work('block').run)
  await settle()
  expect(began).toEqual(['block'])
})
