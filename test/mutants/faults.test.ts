import { existsSync, readFileSync } from 'node:fs'
import { transform } from 'esbuild'
import { describe, expect, inject, it } from 'vitest'
import { combined } from '../support/combined.ts'
import { withFault } from './fault.ts'
import { lists } from './lists.ts'
import { uncounted } from './uncounted.ts'

const files = lists.flatMap((list) => Object.entries(list))

describe('the lists of deliberate faults', () => {
  it('have each file once', () => {
    const paths = files.map(([path]) => path)
    expect(paths.filter((path, position) => paths.indexOf(path) !== position)).toEqual([])
  })

  it('need no test that only some runs have', () => {
    const needed = new Set(files.flatMap(([, { tests }]) => tests))
    expect(combined.filter((test) => needed.has(test))).toEqual([])
    expect(combined.filter((test) => !existsSync(test))).toEqual([])
  })

  it.each(files)('of %s fit its text, are programs, differ, and have tests', async (path, { tests, faults }) => {
    const text = readFileSync(path, 'utf8')
    const faulty = faults.map((fault) => withFault(text, fault))
    // The code of all faults takes ten seconds to parse.
    if (inject('form') === 'long') for (const code of faulty) await transform(code, { loader: 'ts' })
    expect(new Set(faulty).size).toBe(faults.length)
    expect(tests.length).toBeGreaterThan(0)
    expect(tests.filter((test) => !existsSync(test))).toEqual([])
  })
})

it.each(Object.entries(uncounted))('the changes of %s that do not count are of its code', (path, changes) => {
  const text = readFileSync(path, 'utf8').replace(/\s+/g, ' ')
  const isOfCode = (change: string): boolean => {
    const arrows = [...change.matchAll(/ => /g)]
    return arrows.some(({ index }) => text.includes(change.slice(0, index)))
  }
  expect(Object.keys(changes).filter((change) => !isOfCode(change))).toEqual([])
})
