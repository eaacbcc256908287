/** How code of a generator is used: what it exports by operation, and the type of a position in a response. */
export type Generator = {
  readonly name: string
  /** The program, in `node_modules` of the folder that has the generator, and its arguments. */
  readonly program: string
  readonly args: readonly string[]
  readonly position: string
  readonly operations: string
}

const read = 'Awaited<ReturnType<typeof api.getHedgePositionsById>>'

/** Generators of the folder's `package.json`; openapi-typescript is installed with the project. */
export const generators: readonly Generator[] = [
  {
    name: 'openapi-typescript',
    program: 'openapi-typescript/bin/cli.js',
    args: ['openapi.json', '--output', 'openapi-typescript/index.ts'],
    position: "api.operations['getHedgePositionsById']['responses'][200]['content']['application/json']['data']",
    operations: 'api.operations',
  },
  {
    name: 'hey-api',
    program: '@hey-api/openapi-ts/bin/run.js',
    args: ['--input', 'openapi.json', '--output', 'hey-api', '--client', '@hey-api/client-fetch', '--no-log-file'],
    position: "api.GetHedgePositionsByIdResponse['data']",
    operations: 'typeof api',
  },
  {
    name: 'orval',
    program: 'orval/dist/bin/orval.js',
    args: ['--input', 'openapi.json', '--output', 'orval/index.ts', '--client', 'fetch'],
    position: `Extract<${read}, { status: 200 }>['data']['data']`,
    operations: 'typeof api',
  },
  {
    name: 'kubb',
    program: '@kubb/cli/bin/kubb.cjs',
    args: ['generate'],
    position: `${read}['data']`,
    operations: 'typeof api',
  },
]

/** The only one that takes its options from a file. */
export const kubbConfig = `
  import { pluginClient } from '@kubb/plugin-client'
  import { pluginOas } from '@kubb/plugin-oas'
  import { pluginTs } from '@kubb/plugin-ts'
  export default {
    root: '.',
    input: { path: 'openapi.json' },
    output: { path: 'kubb', clean: true, format: false, lint: false },
    plugins: [
      pluginOas({ validate: true }),
      pluginTs({ output: { path: 'types' } }),
      pluginClient({ output: { path: 'client' }, client: 'fetch' }),
    ],
  }
`

/**
 * Fails to compile when an operation is missing, or when a position has become `any` or something else. Generators may
 * write acronyms in another case.
 */
export const usage = ({ name, position, operations }: Generator, ids: readonly string[]): string => `
  import type * as api from './${name}/index.ts'
  declare const position: ${position}
  export const notional: string = position.notional
  // @ts-expect-error: an amount is a string
  export const wrong: number = position.notional
  type Operation = Lowercase<string & keyof (${operations})>
  export const operations: readonly Operation[] = ${JSON.stringify(ids.map((id) => id.toLowerCase()))}
`
