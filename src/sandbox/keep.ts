import { existsSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Address, isAddress } from 'viem'
import { z } from 'zod'
import { OperatorError } from '../lib/errors.ts'
import { chainIds } from '../protocol/chains.ts'
import type { SandboxChain } from './chain.ts'

const Address20 = z.custom<Address>((value) => typeof value === 'string' && isAddress(value))

const Deployment = z.array(
  z.object({
    chainId: z.literal(chainIds),
    diamond: Address20,
    tokens: z.array(z.object({ symbol: z.string(), address: Address20, decimals: z.int() })),
    deployBlock: z.number(),
  }),
)

/** What was deployed where: enough to go on without deploying again. The node's address is another each time. */
type DeploymentRecord = readonly Omit<SandboxChain, 'rpcUrl'>[]

export type Keep = {
  readonly postgres: string
  readonly stateFile: (chainId: number) => string
  /** What an earlier sandbox deployed here; undefined when it never got as far as seeding everything. */
  readonly deployment: DeploymentRecord | undefined
  readonly saveDeployment: (record: DeploymentRecord) => Promise<void>
  /** Gives the directory free for another sandbox. Synchronous, so that a forced exit can do it too. */
  readonly release: () => void
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it runs, as somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Writes our process id into the lock; a lock of a process that is gone is taken over. Throws an OperatorError when another sandbox holds it. */
const lock = async (dir: string, path: string): Promise<void> => {
  for (;;) {
    try {
      return await writeFile(path, String(process.pid), { flag: 'wx' })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      const holder = Number(readFileSync(path, 'utf8'))
      if (holder > 0 && isRunning(holder)) {
        throw new OperatorError(
          `process ${holder} runs a sandbox on ${dir}: stop it (kill -INT ${holder}), or give --persist another folder`,
        )
      }
      await rm(path, { force: true })
    }
  }
}

/**
 * Opens the directory of `--persist`: locks it, and clears away what a start that failed half-way left, so that a resumed sandbox is
 * always a whole one. Throws an OperatorError when another sandbox uses it.
 */
export const openKeep = async (persistDir: string): Promise<Keep> => {
  const dir = resolve(persistDir)
  // As root PostgreSQL runs as another account, which has to pass through.
  if ((await mkdir(dir, { recursive: true })) !== undefined) await chmod(dir, 0o711)
  const lockFile = join(dir, 'sandbox.lock')
  const recordFile = join(dir, 'deployment.json')
  const postgres = join(dir, 'postgres')
  const stateFile = (chainId: number): string => join(dir, `chain-${chainId}.json`)
  await lock(dir, lockFile)
  try {
    const whole = [recordFile, postgres, ...chainIds.map(stateFile)].every((path) => existsSync(path))
    if (!whole) {
      for (const path of [recordFile, postgres, ...chainIds.map(stateFile)])
        await rm(path, { recursive: true, force: true })
    }
    return {
      postgres,
      stateFile,
      deployment: whole ? Deployment.parse(JSON.parse(await readFile(recordFile, 'utf8'))) : undefined,
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
