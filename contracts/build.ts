/**
 * Compiles the protocol, in both profiles. `npm run contracts` writes the artifacts, the typed ABIs and a checksum of
 * them and of all that they are made from. With `--check` it compiles and writes nothing, and fails when the committed
 * files do not have that checksum.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { Abi } from 'viem'
import { z } from 'zod'

const here = dirname(fileURLToPath(import.meta.url))
const abiFolder = join(here, '..', 'src', 'abi')
const artifacts = join(here, 'artifacts')
const checksumFile = join(artifacts, 'checksum')

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

/** What the compiler gets. */
const input = () =>
  JSON.stringify({
    language: 'Solidity',
    sources: sources(),
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200 },
      // Without the metadata hash the bytecode depends only on the code, not on comments or paths.
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  })

const compile = async (): Promise<Map<string, { abi: Abi; bytecode: string; code: string }>> => {
  // Loaded here, since it takes seconds.
  const { default: solc } = await import('solc')
  const output = Output.parse(JSON.parse(solc.compile(input())))
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

const generate = async (): Promise<Map<string, string>> => {
  const contracts = await compile()
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
    files.set(join(artifacts, `${name}.json`), `${JSON.stringify({ abi, bytecode }, stripTypes, 1)}\n`)
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

/** The SHA-256 of the compiler and its input, of this file, and of the names and texts of all generated files. */
const checksum = (): string => {
  const { version } = createRequire(import.meta.url)('solc/package.json')
  const generated = [artifacts, abiFolder].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.json') || name.endsWith('.generated.ts'))
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  )
  const all = [version, input(), readFileSync(fileURLToPath(import.meta.url), 'utf8'), generated]
  return createHash('sha256').update(JSON.stringify(all)).digest('hex')
}

if (argv.includes('--check')) {
  if (readFileSync(checksumFile, 'utf8').trim() !== checksum())
    throw new Error('the contracts or the files generated from them have changed. Run: npm run contracts')
} else {
  // Compiled first: contracts with an error leave the artifacts as they are.
  const files = await generate()
  rmSync(artifacts, { recursive: true, force: true })
  for (const [path, text] of files) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  writeFileSync(checksumFile, `${checksum()}\n`)
  console.log(`${files.size} files written from ${created.length} contracts`)
}
