import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core'
import * as parsers from '@stoplight/spectral-parsers'
import { oas } from '@stoplight/spectral-rulesets'
import { describe, expect, inject, test } from 'vitest'
import { committed } from '../../support/openapi.ts'

describe('the OpenAPI document for linters', { timeout: 60_000 }, () => {
  const redocly = async (source: string) => {
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
    return problems.map(({ severity, ruleId, message }) => `${severity} ${ruleId}: ${message}`)
  }

  const spectral = async (source: string) => {
    const linter = new spectralCore.Spectral()
    // The package types its own rule set more loosely than the linter wants it.
    linter.setRuleset({ extends: [[oas as RulesetDefinition, 'recommended']] })
    const problems = await linter.run(new spectralCore.Document(source, parsers.Json))
    return problems.map(({ code, path }) => `${code}: ${path.join('.')}`)
  }

  test('Redocly reports only the warnings that a wallet in the place of an id causes', async () => {
    expect(await redocly(committed)).toEqual([
      expect.stringMatching(/^warn no-ambiguous-paths: .*\{id\}\/pending.*\/wallet\/\{addr\}/),
      expect.stringMatching(/^warn no-ambiguous-paths: .*\/wallet\/\{addr\}.*\{id\}\/series/),
    ])
  })

  // It takes seconds for the whole document.
  test.runIf(inject('form') === 'long')('Spectral reports nothing', async () => {
    expect(await spectral(committed)).toEqual([])
  })

  test('both report an example that does not match its schema', async () => {
    // The linters take seconds for the whole document, so they get one path of it.
    const path = '/v1/hedge/events/{chainId}/{id}'
    const { paths, ...rest } = JSON.parse(committed)
    const right = JSON.stringify({ ...rest, paths: { [path]: paths[path] } })
    const wrong = right.replace('"strike":"12000000"', '"strike":12000000')
    expect(wrong).not.toBe(right)
    const found = (await spectral(wrong)).filter((problem) => !problem.startsWith('oas3-unused-component'))
    expect(found).toEqual([expect.stringMatching(/example/)])
    expect(await redocly(wrong)).toContainEqual(expect.stringMatching(/example/))
  })
})
