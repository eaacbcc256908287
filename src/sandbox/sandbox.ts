import { createHash } from 'node:crypto'
import { migrate } from '../db/migrate.ts'
import { errorText, OperatorError } from '../lib/errors.ts'
import { type Closers, createClosers } from '../lib/lifecycle.ts'
import { chainVariables, deployOn, type LocalChain, type SandboxChain } from './chain.ts'
import { startControls } from './controls/server.ts'
import { writeEnvFile } from './env-file.ts'
import { type Anvil, startAnvil } from './parts/anvil.ts'
import { createHeldOutput } from './parts/held-output.ts'
import { openPersistDirectory, type PersistDirectory } from './parts/persist.ts'
import { claimPorts } from './parts/ports.ts'
import { startPostgres } from './parts/postgres.ts'
import { untilReady } from './parts/ready.ts'
import { findRedis, type Redis } from './parts/redis.ts'
import { createProgress } from './progress.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'
import { createAccounts } from './story/accounts.ts'
import { createActions } from './story/actions.ts'
import { runActivity } from './story/activity.ts'
import { SCENARIO_DAYS } from './story/scenario.ts'
import { seedScenario } from './story/seed.ts'
import { summary } from './summary.ts'

export type SandboxOptions = {
  /** 0 takes a free one. */
  readonly apiPort: number
  /** In the order of `CHAINS`. */
  readonly chains: readonly LocalChain[]
  /** Keeps everything here and goes on from it next time; absent, nothing outlives the sandbox. */
  readonly persistDir?: string | undefined
  /** No live activity after the seeded scenario. */
  readonly quiet: boolean
  readonly redisUrl?: string | undefined
  /**
   * How the worker, the API and the engine are started: this, then the name of one, in `env` with our variables over
   * it.
   */
  readonly service: {
    readonly command: string
    readonly args: readonly string[]
    readonly env: Readonly<Record<string, string | undefined>>
  }
  readonly print: (line: string) => void
  /** Aborts a start that has not finished. */
  readonly signal: AbortSignal
}

export type Sandbox = {
  readonly apiUrl: string
  readonly chains: readonly SandboxChain[]
  /** Stops everything in order, and removes the state unless it is persistent. */
  readonly close: () => Promise<void>
}

const SAVE_INTERVAL_MS = 15_000
const ACTIVITY_INTERVAL_MS = 4_000
const BLOCK_TIME_SECONDS = 2

/** Like Promise.all, but it waits for all tasks before it throws, so that everything that was opened can be closed. */
const settleAll = async <T>(tasks: readonly Promise<T>[]): Promise<T[]> => {
  const results = await Promise.allSettled(tasks)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

const rpcPortVariable = (chainId: number): string => `SANDBOX_RPC_PORT_${chainId}`

const openSandbox = async (
  options: SandboxOptions,
  closers: Closers,
  closing: AbortSignal,
  output: ReturnType<typeof createHeldOutput>,
): Promise<Omit<Sandbox, 'close'>> => {
  const { print, signal } = options
  const accounts = createAccounts()
  const progress = closers.add('the progress', createProgress(print), ({ close }) => close())
  const timed = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted()
    return progress.step(what, run)
  }
  const watch = (what: string, exited: Promise<string>, consequence: string): void => {
    exited.then((how) => closing.aborted || print(`${what} ${how}: ${consequence}`))
  }

  const host = options.service.env.HOST || '127.0.0.1'
  const [apiPort = 0, enginePort = 0, controlsPort = 0, ...rpcPorts] = await claimPorts([
    { variable: 'PORT', port: options.apiPort, host },
    { variable: 'ENGINE_PORT', port: 0 },
    { variable: 'the port of the controls', port: 0 },
    ...options.chains.map(({ chainId, rpcPort }) => ({ variable: rpcPortVariable(chainId), port: rpcPort })),
  ])
  const engineUrl = `http://127.0.0.1:${enginePort}`
  const chainIds = options.chains.map(({ chainId }) => chainId)
  let persisted: PersistDirectory | undefined
  if (options.persistDir !== undefined) {
    persisted = closers.add(
      'the persisted directory',
      await openPersistDirectory(options.persistDir, chainIds),
      ({ release }) => release(),
    )
    process.once('exit', persisted.release)
  }
  const resumed = persisted?.deployment

  const openDatabase = async (): Promise<string> => {
    const postgres = await timed('PostgreSQL', () => startPostgres(persisted ? { dir: persisted.postgres } : {}))
    closers.add('PostgreSQL', postgres, ({ close }) => close())
    watch(
      'PostgreSQL',
      postgres.exited,
      'the API answers from the chains alone; start the sandbox again to get it back',
    )
    await timed('migrations', () => migrate({ databaseUrl: postgres.url }))
    return postgres.url
  }
  const openChain = async (local: LocalChain, at: number): Promise<{ node: Anvil; chain: SandboxChain }> => {
    const { chainId, name, symbol } = local
    const node = await timed(`node of chain ${chainId}`, () =>
      startAnvil({
        chainId,
        port: rpcPorts[at] ?? 0,
        portVariable: rpcPortVariable(chainId),
        blockTime: BLOCK_TIME_SECONDS,
        // The scenario begins months ago, so the chain does too. Seeding ends with its clock in the present.
        genesisTimestamp: Math.floor(Date.now() / 1000) - SCENARIO_DAYS * 86_400,
        ...(persisted && { stateFile: persisted.stateFile(chainId) }),
      }),
    )
    closers.add(`the node of chain ${chainId}`, node, async ({ close }) => {
      if (!persisted) return close()
      print(`  saving chain ${chainId}: some seconds, more the longer the sandbox ran`)
      await progress.step(`chain ${chainId} saved`, close)
    })
    watch(
      `the node of chain ${chainId}`,
      node.exited,
      'the API answers from its index; start the sandbox again to get it back',
    )
    const known = resumed?.find((record) => record.chainId === chainId)
    if (known) return { node, chain: { ...known, name, symbol, rpcUrl: node.url } }
    return { node, chain: await timed(`protocol on chain ${chainId}`, () => deployOn(node.url, local, accounts)) }
  }
  const openRedis = async (): Promise<Redis | null> => {
    const redis = await findRedis({ redisUrl: options.redisUrl })
    return redis && closers.add('Redis', redis, ({ close }) => close())
  }

  const database = openDatabase()
  const redisFound = openRedis()
  const nodes = options.chains.map(openChain)
  await settleAll<unknown>([database, redisFound, ...nodes])
  const [databaseUrl, redis, opened] = [await database, await redisFound, await Promise.all(nodes)]
  const chains = opened.map(({ chain }) => chain)
  const controlled = chains.map((chain) => ({ name: chain.name, actions: createActions(chain) }))
  const actions = controlled.map((each) => each.actions)

  // The engine prices on the worker's calibrations. Synthetic rates give the scenario's own market a price.
  const pricing = { DATABASE_URL: databaseUrl, ENGINE_SYNTHETIC: 'true' }
  const ofChains = { CHAINS: chainIds.join(), ...Object.assign({}, ...chains.map(chainVariables)) }
  const variables: Record<string, string> = {
    HOST: host,
    PORT: String(apiPort),
    ...pricing,
    REDIS_URL: redis?.url ?? '',
    JOBS_PREFIX: redis?.prefix ?? '',
    ENGINE_URL: engineUrl,
    // Stays the same where the state is kept.
    WEBHOOKS_KEY: createHash('sha256').update(`webhooks ${accounts.engine.privateKey}`).digest('hex'),
    WEBHOOKS_ALLOW_LOOPBACK: 'true',
    ...ofChains,
  }
  const envFile = closers.add('the environment file', await writeEnvFile(variables), ({ remove }) => remove())
  const services: Service[] = []
  closers.add('the services', services, (list) => Promise.all(list.map(({ close }) => close())))
  // Only the engine gets its key.
  const engine = {
    ...pricing,
    ...ofChains,
    ENGINE_PORT: String(enginePort),
    ENGINE_PRIVATE_KEY: accounts.engine.privateKey,
  }
  const start = async (name: string, own: Record<string, string>, port?: ServiceOptions['port']): Promise<void> => {
    const { command, args, env } = options.service
    const given = { name, command, args: [...args, name], env: { ...env, ...own }, print: output.line }
    services.push(await startService({ ...given, ...(port && { port }) }))
  }
  await start('worker', variables)

  const apiUrl = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${apiPort}`
  if (!resumed) {
    await settleAll(
      actions.map((chain) =>
        timed(`generated history of chain ${chain.chain.chainId}`, () =>
          seedScenario({ actions: chain, accounts, seed: chain.chain.chainId, signal }),
        ),
      ),
    )
  }
  // A resumed chain ends at its stop, and without live activity it would get no new block.
  await settleAll(actions.map((chain) => chain.mineNow()))
  // The engine starts when the chains are in the present, because it compares its clock with them.
  await start('engine', engine, { number: enginePort, variable: 'ENGINE_PORT' })
  await timed('pricing engine', () => untilReady(`${engineUrl}/livez`, services, signal))
  closers.add(
    'the controls',
    await startControls({ port: controlsPort, apiPort, chains: controlled, accounts }),
    ({ close }) => close(),
  )
  // Only the API gets the address of the controls, so only its pages show them; not to other machines.
  const isHidden = host === '127.0.0.1'
  const explorer = { EXPLORER: isHidden ? `http://127.0.0.1:${controlsPort}` : 'on' }
  await start('api', { ...variables, ...explorer }, { number: apiPort, variable: 'PORT' })
  if (persisted) {
    await settleAll(opened.map(({ node }) => node.save()))
    if (!resumed) await persisted.saveDeployment(chains.map(({ rpcUrl, name, symbol, ...record }) => record))
    const saving = setInterval(() => {
      for (const { node } of opened)
        node.save().catch((error: unknown) => closing.aborted || print(`not saved: ${errorText(error)}`))
    }, SAVE_INTERVAL_MS)
    closers.add('the saving', saving, clearInterval)
  }
  await timed('worker and API', () => untilReady(`${apiUrl}/readyz`, services, signal))
  output.open()

  const activitySeed = Math.floor(Math.random() * 2 ** 31)
  print(
    summary(apiUrl, envFile.path, chains, accounts, [
      redis ? `Jobs run on BullMQ, on the Redis of ${redis.origin}.` : 'No Redis: jobs run inside the worker.',
      persisted
        ? `State is kept in ${options.persistDir}${resumed ? ' (resumed)' : ''}.`
        : 'Nothing is kept when it stops.',
      options.quiet
        ? 'Quiet: no live activity.'
        : `Live activity every few seconds (seed ${activitySeed}); npm start -- --quiet turns it off.`,
    ]),
  )
  if (!options.quiet) {
    const stop = new AbortController()
    const intervalMs = ACTIVITY_INTERVAL_MS
    const activity = runActivity({
      chains: actions,
      accounts,
      seed: activitySeed,
      intervalMs,
      signal: stop.signal,
      log: print,
    })
    closers.add('the live activity', activity, (running) => {
      stop.abort()
      return running
    })
  }
  return { apiUrl, chains }
}

/**
 * Starts the whole system on embedded parts and resolves when the API is ready: a node of each chain with the protocol
 * and a generated history, a PostgreSQL, a Redis where there is one, the worker, the API and the pricing engine as
 * processes of their own, and live activity. When it throws (a taken port, a failed start, an aborted signal),
 * everything that had been started is gone again.
 *
 * @example
 * const sandbox = await startSandbox(options)
 * await fetch(`${sandbox.apiUrl}/v1/chains`)
 * await sandbox.close()
 */
export const startSandbox = async (options: SandboxOptions): Promise<Sandbox> => {
  const closers = createClosers()
  const closing = new AbortController()
  const close = (): Promise<void> => {
    closing.abort()
    return closers.close()
  }
  const output = createHeldOutput(options.print)
  try {
    return { ...(await openSandbox(options, closers, closing.signal, output)), close }
  } catch (error) {
    // What the operator can correct needs no logs.
    if (!(error instanceof OperatorError) && !options.signal.aborted) output.show()
    await close().catch((second: unknown) => options.print(errorText(second)))
    throw error
  }
}
