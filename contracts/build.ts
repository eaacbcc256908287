/**
 * Compiles the protocol, in both profiles. `npm run contracts` writes the artifacts and the typed ABIs. With `--check`
 * it writes nothing and fails when a committed file differs from its output.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import solc from 'solc'
import type { Abi } from 'viem'
import { z } from 'zod'

const here = dirname(fileURLToPath(import.meta.url))
const abiFolder = join(here, '..', 'src', 'abi')

/** Contracts that are deployed; the last five in tests only. */
const created = [
  'Diamond',
  'EventFacet',
  'PoolFacet',
  'ProtectionFacet',
  'AdminFacet',
  'ViewFacet',
  'OracleFacet',
  'OwnershipFacet',
  'TimelockFacet',
  'LoupeFacet',
  'DeployedDiamond',
  'DeployedEventFacet',
  'DeployedPoolFacet',
  'DeployedProtectionFacet',
  'DeployedViewFacet',
  'DeployedOracleFacet',
  'DeployedCutFacet',
  'TestToken',
  'HostileToken',
  'Archive',
  'StrictToken',
  'BatchAccount',
  'GreedyToken',
]

/** The interfaces of the public protocol, in the order of the generated ABI. */
const interfaces = [
  'IHedge',
  'IHedgeAdmin',
  'IHedgeViews',
  'IOracle',
  'IOwnership',
  'IDiamondCut',
  'ITimelock',
  'ILoupe',
]

/** EIP-170: nodes reject larger contracts. */
const MAX_CODE_BYTES = 24_576

const Output = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z
    .record(
      z.string(),
      z.record(
        z.string(),
        z.object({
          abi: z.custom<Abi>((value) => Array.isArray(value)),
          evm: z.object({
            bytecode: z.object({ object: z.string() }),
            deployedBytecode: z.object({ object: z.string() }),
          }),
        }),
      ),
    )
    .default({}),
})

const sources = (): Record<string, { content: string }> =>
  Object.fromEntries(
    readdirSync(here, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.sol'))
      .sort()
      .map((path) => [path, { content: readFileSync(join(here, path), 'utf8') }]),
  )

const compile = (): Map<string, { abi: Abi; bytecode: string; code: string }> => {
  const input = {
    language: 'Solidity',
    sources: sources(),
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200 },
      // Without the metadata hash the bytecode depends only on the code, not on comments or paths.
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  }
  const output = Output.parse(JSON.parse(solc.compile(JSON.stringify(input))))
  if (output.errors.length > 0) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  return new Map(
    Object.values(output.contracts)
      .flatMap((file) => Object.entries(file))
      .map(([name, { abi, evm }]) => [
        name,
        { abi, bytecode: `0x${evm.bytecode.object}`, code: `0x${evm.deployedBytecode.object}` },
      ]),
  )
}

const generate = (): Map<string, string> => {
  const contracts = compile()
  const contract = (name: string) => {
    const found = contracts.get(name)
    if (found === undefined)
      throw new Error(`no contract ${name} in ${relative('.', here)}: add its source, or remove it from this list`)
    return found
  }
  const typescript = (constants: Record<string, Abi | string>): string =>
    [
      '// Generated from the contracts by `npm run contracts`.',
      ...Object.entries(constants).map(
        ([name, abi]) => `export const ${name} = ${JSON.stringify(abi, stripTypes, 2)} as const`,
      ),
      '',
    ].join('\n\n')
  const files = new Map<string, string>()
  for (const name of created) {
    const { abi, bytecode, code } = contract(name)
    const size = code.length / 2 - 1
    if (size > MAX_CODE_BYTES)
      throw new Error(
        `${name} has ${size} bytes of code, above the limit of ${MAX_CODE_BYTES} (EIP-170): make the contract smaller`,
      )
    files.set(join(here, 'artifacts', `${name}.json`), `${JSON.stringify({ abi, bytecode }, stripTypes, 1)}\n`)
  }
  files.set(
    join(abiFolder, 'protocol.generated.ts'),
    typescript({
      protocolAbi: interfaces.flatMap((name) => contract(name).abi),
      deployedLogsAbi: contract('IDeployedLogs').abi,
    }),
  )
  files.set(
    join(abiFolder, 'erc20.generated.ts'),
    typescript({ erc20Abi: contract('TestToken').abi.filter((item) => item.type !== 'constructor') }),
  )
  files.set(
    join(abiFolder, 'aggregate.generated.ts'),
    typescript({ aggregateBytecode: contract('Aggregate').bytecode }),
  )
  const { abi: callSequenceAbi, code: callSequenceCode } = contract('CallSequence')
  files.set(join(abiFolder, 'call-sequence.generated.ts'), typescript({ callSequenceAbi, callSequenceCode }))
  const { abi, bytecode } = contract('Balances')
  files.set(join(abiFolder, 'balances.generated.ts'), typescript({ balancesAbi: abi, balancesBytecode: bytecode }))
  return files
}

/** Removes `internalType`, which names structs of the source. Callers need only the ABI types. */
const stripTypes = (key: string, value: unknown): unknown => (key === 'internalType' ? undefined : value)

const main = (): void => {
  const files = generate()
  if (!argv.includes('--check')) {
    for (const [path, text] of files) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    console.log(`${files.size} files written from ${created.length} contracts`)
    return
  }
  const read = (path: string): string | undefined => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  }
  const stale = [...files].filter(([path, text]) => read(path) !== text).map(([path]) => relative('.', path))
  if (stale.length > 0)
    throw new Error(
      `generated files that differ from the compiled contracts: ${stale.join(', ')}\nRun: npm run contracts`,
    )
  console.log(`${files.size} generated files are up to date`)
}

main()
