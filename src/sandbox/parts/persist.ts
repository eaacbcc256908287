import { existsSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Address, isAddress } from 'viem'
import { z } from 'zod'
import { OperatorError } from '../../lib/errors.ts'
import type { ChainId } from '../../protocol/chains.ts'
import type { SandboxChain } from '../chain.ts'

const Address20 = z.custom<Address>((value) => typeof value === 'string' && isAddress(value))

const Deployment = z.array(
  z.object({
    chainId: z.int().positive(),
    diamond: Address20,
    tokens: z.array(z.object({ symbol: z.string(), address: Address20, decimals: z.int() })),
    deployBlock: z.number(),
  }),
)

/** The deployments of a sandbox, which a resumed sandbox uses again. The node's URL changes with every start. */
type DeploymentRecord = readonly Omit<SandboxChain, 'rpcUrl' | 'name' | 'symbol'>[]

export type PersistDirectory = {
  readonly postgres: string
  readonly stateFile: (chainId: number) => string
  /** The deployments of an earlier sandbox; undefined when it ended before everything was seeded. */
  readonly deployment: DeploymentRecord | undefined
  readonly saveDeployment: (record: DeploymentRecord) => Promise<void>
  /** Releases the directory for another sandbox. Synchronous, so that a forced exit can call it too. */
  readonly release: () => void
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process runs under another account.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * Writes this process's id into the lock file, and replaces the lock of a process that no longer runs. Throws an
 * OperatorError when another sandbox holds it.
 */
const lock = async (dir: string, path: string): Promise<void> => {
  for (;;) {
    try {
      return await writeFile(path, String(process.pid), { flag: 'wx' })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      const holder = Number(readFileSync(path, 'utf8'))
      if (holder > 0 && isRunning(holder)) {
        throw new OperatorError(
          `process ${holder} runs a sandbox on ${dir}: stop it (kill -INT ${holder}), or choose another folder with --persist`,
        )
      }
      await rm(path, { force: true })
    }
  }
}

/**
 * Opens the directory of `--persist`: locks it, and removes the remains of an incomplete start, so that a resumed
 * sandbox is always complete. Throws an OperatorError when another sandbox uses it, or when it holds other chains.
 */
export const openPersistDirectory = async (
  persistDir: string,
  chainIds: readonly ChainId[],
): Promise<PersistDirectory> => {
  const dir = resolve(persistDir)
  // When this process is root, PostgreSQL runs as another account, which must be able to enter the directory.
  if ((await mkdir(dir, { recursive: true })) !== undefined) await chmod(dir, 0o711)
  const lockFile = join(dir, 'sandbox.lock')
  const recordFile = join(dir, 'deployment.json')
  const postgres = join(dir, 'postgres')
  const stateFile = (chainId: number): string => join(dir, `chain-${chainId}.json`)
  await lock(dir, lockFile)
  try {
    const record = existsSync(recordFile) ? Deployment.parse(JSON.parse(await readFile(recordFile, 'utf8'))) : undefined
    const kept = record?.map(({ chainId }) => chainId)
    if (kept !== undefined && String(kept.toSorted()) !== String(chainIds.toSorted())) {
      throw new OperatorError(
        `${dir} holds a sandbox of the chains ${kept.join()}: set CHAINS=${kept.join()}, or give --persist another folder`,
      )
    }
    const whole = [recordFile, postgres, ...chainIds.map(stateFile)].every((path) => existsSync(path))
    if (!whole) {
      for (const path of [recordFile, postgres, ...chainIds.map(stateFile)])
        await rm(path, { recursive: true, force: true })
    }
    return {
      postgres,
      stateFile,
      deployment: whole ? record : undefined,
      async saveDeployment(record) {
        await writeFile(`${recordFile}.part`, `${JSON.stringify(record, null, 2)}\n`)
        await rename(`${recordFile}.part`, recordFile)
      },
      release: () => rmSync(lockFile, { force: true }),
    }
  } catch (error) {
    rmSync(lockFile, { force: true })
    throw error
  }
}
