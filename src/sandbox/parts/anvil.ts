import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { createClient, hexToBytes, http, isHex, rpcSchema } from 'viem'
import { z } from 'zod'
import { OperatorError } from '../../lib/errors.ts'
import { PortTakenError, reportsTaken } from '../../lib/port-taken.ts'
import { TEST_ACCOUNTS, TEST_MNEMONIC } from '../../protocol/test-keys.ts'
import { type Child, startChild } from './child.ts'

export type AnvilOptions = {
  readonly chainId: number
  /** 0 selects a free port. A given port that is in use causes a PortTakenError. */
  readonly port?: number
  /** The variable that this error names. */
  readonly portVariable?: string
  /** Also mines a block every this many seconds. Transactions are always mined immediately. */
  readonly blockTime?: number
  /** Unix seconds of the genesis block, for a chain with a past; ignored when a state is loaded. */
  readonly genesisTimestamp?: number
  /** The file to which `save` writes the chain. It is loaded at start if it exists. */
  readonly stateFile?: string
}

export type Anvil = {
  readonly url: string
  readonly pid: number
  readonly exited: Child['exited']
  /**
   * Writes the current chain to `stateFile` atomically. A chain resumed from it does not support calls at older blocks.
   */
  readonly save: () => Promise<void>
  /** Saves to `stateFile`, if given, with the state of recent blocks (takes some seconds). Then stops the node. */
  readonly close: () => Promise<void>
}

const platforms: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-amd64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'darwin-amd64',
  'darwin-arm64': 'darwin-arm64',
}

/**
 * The node's native executable. The package's own `bin` is a Node wrapper: another process of 40 MB that also relays
 * signals. Throws when there is no executable for this platform.
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

/** The anvil-specific calls in this module. */
type NodeCalls = [
  { Method: 'anvil_setLoggingEnabled'; Parameters: [enabled: boolean]; ReturnType: unknown },
  { Method: 'anvil_dumpState'; Parameters: [withPast: boolean]; ReturnType: unknown },
]

const unzip = promisify(gunzip)

const SavedState = z.object({ block: z.object({ timestamp: z.coerce.number().int() }) })

/** The time of the newest block of a saved chain, in Unix seconds. */
const savedTime = async (stateFile: string): Promise<number> =>
  SavedState.parse(JSON.parse(await readFile(stateFile, 'utf8'))).block.timestamp

/**
 * Starts a real Ethereum node on 127.0.0.1 and resolves when it answers. Throws a PortTakenError for a taken port, and
 * an Error with the node's last lines when it does not start.
 *
 * @example const node = await startAnvil({ chainId: 8453 })
 */
export const startAnvil = async (options: AnvilOptions): Promise<Anvil> => {
  const { chainId, port = 0, portVariable = 'the port option', blockTime, genesisTimestamp, stateFile } = options
  const resumed = stateFile !== undefined && existsSync(stateFile)
  // The time of a chain never goes back, also where its clock was moved ahead before it was saved.
  const startTime = resumed
    ? Math.max(Math.floor(Date.now() / 1_000), (await savedTime(stateFile)) + 1)
    : genesisTimestamp
  const command = anvilBinary()
  // Anvil moves older states from memory to disk, by default into the home directory, where a kill would leave them.
  const cache = await mkdtemp(join(tmpdir(), 'fx-anvil-'))
  const child = await startChild({
    name: `the node of chain ${chainId}`,
    command,
    args: [
      ...['--host', '127.0.0.1', '--port', String(port), '--chain-id', String(chainId)],
      ...['--mnemonic', TEST_MNEMONIC, '--accounts', String(TEST_ACCOUNTS), '--order', 'fifo', '--cache-path', cache],
      ...(blockTime === undefined ? [] : ['--mixed-mining', '--block-time', String(blockTime)]),
      ...(resumed ? ['--load-state', stateFile] : []),
      ...(startTime === undefined ? [] : ['--timestamp', String(startTime)]),
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
    // Disables the log of every call, which is not used.
    await client.request({ method: 'anvil_setLoggingEnabled', params: [false] })

    const save = async (withPast: boolean): Promise<void> => {
      if (stateFile === undefined) return
      const dump = await client.request({ method: 'anvil_dumpState', params: [withPast] })
      if (!isHex(dump)) throw new Error(`the node of chain ${chainId} returned no state`)
      // The node's own --dump-state writes in place: a kill during the write would leave a truncated file.
      await writeFile(`${stateFile}.part`, await unzip(hexToBytes(dump)))
      await rename(`${stateFile}.part`, stateFile)
    }
    let closing: Promise<void> | undefined
    const close = async (): Promise<void> => {
      try {
        // An indexer of this chain may be some blocks behind and read those blocks after a restart.
        if (!child.hasExited()) await save(true)
      } finally {
        await child.stop()
      }
    }
    return {
      url,
      pid: child.pid,
      exited: child.exited,
      save: () => save(false),
      close: () => {
        closing ??= close()
        return closing
      },
    }
  } catch (cause) {
    await child.stop()
    if (reportsTaken(child.output())) throw new PortTakenError(port, portVariable, { cause })
    throw cause
  }
}
