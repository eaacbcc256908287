import { existsSync } from 'node:fs'
import { mkdtemp, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { createClient, hexToBytes, http, isHex, rpcSchema } from 'viem'
import { OperatorError } from '../lib/errors.ts'
import { TEST_ACCOUNTS, TEST_MNEMONIC } from '../protocol/test-keys.ts'
import { type Child, startChild } from './child.ts'
import { PortTakenError } from './ports.ts'

export type AnvilOptions = {
  readonly chainId: number
  /** 0 takes any free port; a given one that is taken is a PortTakenError. */
  readonly port?: number
  /** The variable such an error names. */
  readonly portVariable?: string
  /** Also mine a block every so many seconds; transactions are mined at once either way. */
  readonly blockTime?: number
  /** Unix seconds of the genesis block, for a chain with a past; ignored when a state is loaded. */
  readonly genesisTimestamp?: number
  /** Where `save` writes the chain; loaded first if it exists. */
  readonly stateFile?: string
}

export type Anvil = {
  readonly url: string
  readonly chainId: number
  readonly pid: number
  readonly exited: Child['exited']
  /** True when the chain came from `stateFile`. */
  readonly resumed: boolean
  /** Writes the chain as it is now to `stateFile`, never half of it; calls at older blocks will not be possible then. */
  readonly save: () => Promise<void>
  /** Saves when there is a `stateFile`, with the recent past (some seconds), then ends the node. */
  readonly close: () => Promise<void>
}

const platforms: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
}

/**
 * The node's executable itself. The package's own `bin` is a Node wrapper around it: another process, 40 MB and one more signal relay.
 * Throws when there is none for this platform.
 */
const anvilBinary = (): string => {
  const here = `${process.platform}-${process.arch}`
  const platform = platforms[here]
  if (platform === undefined) {
    throw new OperatorError(`no anvil binary for ${here}: the sandbox runs on ${Object.keys(platforms).join(', ')}`)
  }
  const require = createRequire(import.meta.url)
  const main = require.resolve('@foundry-rs/anvil/package.json')
  return createRequire(main).resolve(`@foundry-rs/anvil-${platform}/bin/anvil`)
}

/** The node's own calls made here. */
type NodeCalls = [
  { Method: 'anvil_setLoggingEnabled'; Parameters: [enabled: boolean]; ReturnType: unknown },
  { Method: 'anvil_dumpState'; Parameters: [withPast: boolean]; ReturnType: unknown },
]

const unzip = promisify(gunzip)

/**
 * Starts a real Ethereum node on 127.0.0.1 and resolves when it answers.
 * Throws a PortTakenError for a taken port, and an Error with the node's last lines when it does not come up.
 *
 * @example const node = await startAnvil({ chainId: 8453 })
 */
export const startAnvil = async (options: AnvilOptions): Promise<Anvil> => {
  const { chainId, port = 0, portVariable = 'the port option', blockTime, genesisTimestamp, stateFile } = options
  const resumed = stateFile !== undefined && existsSync(stateFile)
  const command = anvilBinary()
  // Older states spill from memory to disk; by default into the home directory, where a kill would leave them.
  const cache = await mkdtemp(join(tmpdir(), 'fx-anvil-'))
  const child = await startChild({
    name: `the node of chain ${chainId}`,
    command,
    args: [
      ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId)],
      ...['--mnemonic', TEST_MNEMONIC, '--accounts', String(TEST_ACCOUNTS), '--order', 'fifo', '--cache-path', cache],
      ...(blockTime === undefined ? [] : ['--mixed-mining', '--block-time', String(blockTime)]),
      ...(resumed ? ['--load-state', stateFile] : []),
      ...(!resumed && genesisTimestamp !== undefined ? ['--timestamp', String(genesisTimestamp)] : []),
    ],
    env: { HOME: cache },
    stopSignal: 'SIGINT',
    scratch: [cache],
  })

  try {
    const [, listening] = await child.waitForLine(/^Listening on 127\.0\.0\.1:(\d+)/, 30_000)
    const url = `http://127.0.0.1:${listening}`
    const transport = http(url, { timeout: 60_000, retryCount: 0, maxResponseBodySize: false })
    const client = createClient({ transport, rpcSchema: rpcSchema<NodeCalls>() })
    // Its log names every call; nobody reads it.
    await client.request({ method: 'anvil_setLoggingEnabled', params: [false] })

    const save = async (withPast: boolean): Promise<void> => {
      if (stateFile === undefined) return
      const dump = await client.request({ method: 'anvil_dumpState', params: [withPast] })
      if (!isHex(dump)) throw new Error(`the node of chain ${chainId} gave no state`)
      // The node's own --dump-state writes in place: a kill in the middle would leave half a chain.
      await writeFile(`${stateFile}.part`, await unzip(hexToBytes(dump)))
      await rename(`${stateFile}.part`, stateFile)
    }
    let closing: Promise<void> | undefined
    const close = async (): Promise<void> => {
      try {
        // Whoever indexes this chain may be some blocks behind and ask about them when it comes back.
        if (!child.hasExited()) await save(true)
      } finally {
        await child.stop()
      }
    }
    return {
      url,
      chainId,
      pid: child.pid,
      exited: child.exited,
      resumed,
      save: () => save(false),
      close: () => {
        closing ??= close()
        return closing
      },
    }
  } catch (cause) {
    await child.stop()
    if (/address already in use/i.test(child.output())) throw new PortTakenError(port, portVariable, { cause })
    throw cause
  }
}
