import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { claimPath, claims } from '../../explorer/src/text/claims.ts'

type Body = { readonly properties: object; readonly required: readonly string[] }
type Description = {
  readonly paths: Record<string, { post: { requestBody: { content: { 'application/json': { schema: Body } } } } }>
}
const { paths } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as Description

describe('the links to claims', () => {
  it('have the parameters that the plans require, also the wallet that owns the claim', () => {
    for (const [kind, { plan }] of Object.entries(claims)) {
      const link = new URL(claimPath({ kind: kind as 'payout', chainId: 56, id: 7 }, '0x12'), 'http://explorer')
      const { required } = paths[`/v1/plans/${plan}`]?.post.requestBody.content['application/json'].schema ?? {}
      expect(link.pathname).toBe(`/act/${plan}`)
      expect([...link.searchParams.keys()].toSorted(), plan).toEqual(required?.toSorted())
      expect([...link.searchParams.values()]).toEqual(['56', '7', '0x12'])
    }
  })
})
