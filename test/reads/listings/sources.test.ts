import { expect, test } from 'vitest'
import { createRenderer, type Renderer } from '../../../src/db/rendering.ts'
import { createLists } from '../../../src/reads/listings/sources.ts'
import { seedDeployment } from '../../support/seed-index.ts'

const chains = new Map(
  [8453, 56].map((chainId) => [chainId, { chainId, deployment: seedDeployment(chainId) }]),
) as unknown as Parameters<typeof createLists>[0]['chains']
const database = { rows: () => expect.unreachable() }

test('each configured chain has a renderer, by default that of this release', () => {
  const { renderer, tokens } = createLists({ database, chains })
  for (const chainId of [8453, 56]) expect(renderer(chainId).key).toBe(createRenderer(seedDeployment(chainId)).key)
  expect(renderer(8453)).toBe(renderer(8453))
  expect(() => renderer(1)).toThrow(new RangeError('chain 1 is not configured'))
  expect(() => tokens.known(56, seedDeployment(56).usdc)).not.toThrow()
})

test('a test can render as another release does', () => {
  const rendered: number[] = []
  const rendererOf = (deployment: { readonly chainId: number }): Renderer => {
    rendered.push(deployment.chainId)
    return { ...createRenderer(seedDeployment(8453)), key: BigInt(deployment.chainId) }
  }
  const { renderer } = createLists({ database, chains, rendererOf })
  expect([renderer(56).key, renderer(8453).key, rendered]).toEqual([56n, 8453n, [8453, 56]])
})
