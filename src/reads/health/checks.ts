import { setMaxListeners } from 'node:events'
import { zeroAddress } from 'viem'
import { z } from 'zod'
import type { Chain } from '../../chain/chain.ts'
import { isRevert, toServiceError } from '../../chain/rpc/errors.ts'
import { decimalsOf } from '../../chain/tokens.ts'
import { protocolScope } from '../../db/changes/scopes.ts'
import { errorText, isUnavailable, nullIfUnavailable, unavailable } from '../../lib/errors.ts'
import { sleep } from '../../lib/lifecycle.ts'
import type { Logger } from '../../lib/observe/log.ts'
import type { PricingClient } from '../../pricing/client.ts'
import { Signing } from '../../pricing/messages.ts'
import { call } from '../../protocol/abi/outputs.ts'
import { type ChainId, startBlockFault } from '../../protocol/chains.ts'
import { UnixSeconds } from '../../protocol/fields/response-fields.ts'
import { profiles } from '../../protocol/profiles.ts'
import { configuredTokens } from '../../protocol/tokens.ts'
import { type Changes, resourceOf, waitForChange } from '../cache/resources.ts'
import { lackedSelectors, requiredSelectors } from './required-selectors.ts'

type CheckContext = {
  readonly chain: Chain
  readonly pricing: Pick<PricingClient, 'signer' | 'health'>
  /** The functions for which the API builds transactions. */
  readonly writes: readonly string[]
}

/** The facets of the functions that each deployment of the profile reference has, and none of the profile deployed has all of. */
const lacked = lackedSelectors(profiles.deployed).map(({ facet }) => facet)

/**
 * Why the configured kind of deployment contradicts the functions of the diamond; null when it does not. With another
 * kind, amounts have another meaning. Throws when the diamond is out of reach.
 */
export const profileFault = async (chain: Chain): Promise<string | null> => {
  const { chainId, deployment } = chain
  const facets = await chain.pinned((block) => chain.readAt(block, lacked))
  // What is no diamond is the fault of another check.
  if (facets.some(({ ok }) => !ok)) return null
  const kind = facets.every((facet) => facet.ok && facet.value !== zeroAddress) ? 'reference' : 'deployed'
  if (kind === deployment.profile) return null
  const has = kind === 'reference' ? 'has' : 'does not have all of'
  return `PROFILE_${chainId} is ${deployment.profile}, but the diamond ${has} ${profiles.deployed.mayLack.join(', ')}, as the profile reference has: capacities would be wrong. Set PROFILE_${chainId}=${kind}.`
}

/**
 * The checks of the configuration. Each returns a sentence with the fault and its remedy, or null when it passes, and
 * throws when neither can be determined now.
 */
const checks = {
  async nodes({ chain }: CheckContext) {
    // There is no head when all nodes are of another chain.
    const [head] = await Promise.allSettled([chain.head()])
    const { chainId } = chain
    const { endpoints } = chain.status()
    const wrong = endpoints.filter(({ rank }) => rank === 'wrong chain').map(({ index }) => index)
    if (wrong.length > 0) {
      return `Nodes of RPC_URLS_${chainId} at the zero-based positions ${wrong.join(', ')} are of another chain and not used: correct or remove them.`
    }
    if (head.status === 'rejected') throw head.reason
    const silent = endpoints.find(({ rank }) => rank === 'unknown' || rank === 'paused')
    if (silent) throw unavailable(`the node at position ${silent.index} has not reported its chain yet`)
    return null
  },

  async startBlock({ chain }: CheckContext) {
    return startBlockFault(chain.deployment, (await chain.head()).number)
  },

  async functions({ chain, writes }: CheckContext) {
    const { chainId, deployment } = chain
    const used = requiredSelectors(profiles[deployment.profile], writes)
    const calls = used.map(({ facet }) => facet)
    const facets = await chain.pinned((block) => chain.readAt(block, calls))
    if (facets.every(({ ok }) => !ok)) {
      return `The contract at DIAMOND_ADDRESS_${chainId} does not list its functions: check that it is the protocol's diamond.`
    }
    const missing = used.filter((_, at) => !facets[at]?.ok || facets[at].value === zeroAddress)
    if (missing.length === 0) return null
    const names = missing.map(({ name }) => name).join(', ')
    return `The diamond of chain ${chainId} has no ${names}: requests that need these functions fail. Check DIAMOND_ADDRESS_${chainId} and PROFILE_${chainId}.`
  },

  profile: ({ chain }: CheckContext) => profileFault(chain),

  async tokens({ chain }: CheckContext) {
    const tokens = configuredTokens(chain.deployment)
    const { outcomes } = await chain.send({ outcomes: tokens.map(({ token }) => decimalsOf(token)) })
    for (const outcome of outcomes) if (!outcome.ok && !isRevert(outcome.error)) throw toServiceError(outcome.error)
    const wrong = tokens.flatMap(({ symbol, decimals }, at) => {
      const found = outcomes[at]?.ok ? outcomes[at].value : 'no'
      return found === decimals ? [] : `${symbol}_ADDRESS_${chain.chainId} has ${found} decimals, expected ${decimals}`
    })
    return wrong.length === 0 ? null : `${wrong.join('; ')}: amounts would have another meaning. Correct the address.`
  },

  async paymentTokens({ chain }: CheckContext) {
    const { chainId, deployment } = chain
    const tokens = configuredTokens(deployment)
    const calls = tokens.map(({ token }) => call('isAllowedPaymentToken', [token]))
    const answers = await chain.pinned((block) => chain.readAt(block, calls))
    // When the view is missing, the `functions` check reports it, and this check stays pending.
    if (answers.some(({ ok }) => !ok))
      throw unavailable(`the diamond of chain ${chainId} does not report which tokens it allows`)
    const refused = tokens.filter((_, at) => answers[at]?.ok && !answers[at].value)
    if (refused.length === 0) return null
    const names = refused.map(({ symbol, token }) => `${symbol}_ADDRESS_${chainId} (${token})`).join(' and ')
    return `The diamond of chain ${chainId} does not allow ${names} as payment token: creating an event with it reverts. Ask its owner to allow the token (/v1/tx/hedge/set-allowed-payment-token), or correct the address.`
  },

  async signer({ chain, pricing }: CheckContext) {
    const { chainId } = chain
    const [[registered], { signerAddress }] = await Promise.all([
      chain.pinned((block) => chain.readAt(block, [call('getPricingEngineSigner')])),
      pricing.signer(),
    ])
    // The protocol checks no signature without a registered signer, and the engine signs nothing without a key.
    if (!registered.ok || registered.value === zeroAddress || signerAddress === null) return null
    if (registered.value.toLowerCase() === signerAddress.toLowerCase()) return null
    return `The engine signs as ${signerAddress}, but chain ${chainId} accepts quotes of ${registered.value}: every signed quote fails. Give the engine the key of that signer, or register the engine's signer.`
  },

  async signing({ chain, pricing }: CheckContext) {
    const { chainId } = chain
    const health = await pricing.health().catch(nullIfUnavailable)
    if (health === null)
      return 'The pricing engine does not answer at ENGINE_URL, so quotes are 503. Start the engine, or correct ENGINE_URL.'
    const signing = Signing.nullish().parse(health.signing)
    // An engine without a key is in advisory mode and signs nothing.
    if (signing == null) return null
    const ofChain = signing.chains.find((it) => it.chainId === chainId)
    if (ofChain === undefined)
      return `The pricing engine does not have chain ${chainId}, so its quotes fail. Give the engine the CHAINS of the API, and restart it.`
    const faults = [...(ofChain.reason === null ? [] : [ofChain.reason]), ...signing.rates]
    return faults.length === 0 ? null : `Some or all quotes for chain ${chainId} are not signed: ${faults.join('; ')}.`
  },
} as const satisfies Readonly<Record<string, (context: CheckContext) => Promise<string | null>>>

type CheckName = keyof typeof checks
const checkNames = Object.keys(checks) as CheckName[]

export const Check = z
  .object({
    check: z.enum(checkNames).meta({ description: 'The name of the check' }),
    result: z.enum(['pending', 'pass', 'fail']).meta({
      description: '`pending` until the check could run for the first time',
    }),
    at: UnixSeconds.nullable().meta({ description: 'When the check last ran to its end, in Unix seconds' }),
    fault: z.string().nullable().meta({ description: 'What is wrong and how to correct it' }),
  })
  .meta({ id: 'StartUpCheck' })

export type CheckResult = z.output<typeof Check>
type Result = CheckResult['result']

const checked = (check: CheckName, result: Result, at: number | null, fault: string | null): CheckResult => ({
  check,
  result,
  at,
  fault,
})

/** The pause after a check by its result, in milliseconds. */
const PAUSE_MS: Readonly<Record<Result, number>> = { pending: 5_000, fail: 30_000, pass: 300_000 }

/** The shortest pause, in milliseconds. Every new event changes the protocol's state, which starts the checks again. */
const MIN_PAUSE_MS = 2_000

/** The longest pause of `signing`, in milliseconds: clocks, nodes and rates change on their own. */
const SIGNING_PAUSE_MS = 10_000

const pauseMs = (name: CheckName, result: Result): number =>
  Math.min(PAUSE_MS[result], name === 'signing' ? SIGNING_PAUSE_MS : Number.POSITIVE_INFINITY)

/**
 * Compares the configuration with the nodes, the diamond, its tokens and the engine. Each fault is logged when it
 * appears, changes or goes away. None stops the service, since it may affect only a small part of it.
 */
export const createChecks = (
  deps: { readonly chains: ReadonlyMap<ChainId, Chain>; readonly log: Logger } & Omit<CheckContext, 'chain'>,
) => {
  const results = new Map<string, CheckResult>()
  const keyOf = (chainId: ChainId, name: CheckName): string => `${chainId} ${name}`
  const lastResult = (chainId: ChainId, name: CheckName): CheckResult =>
    results.get(keyOf(chainId, name)) ?? checked(name, 'pending', null, null)

  const runCheck = async (chain: Chain, name: CheckName): Promise<Result> => {
    const { chainId } = chain
    try {
      const fault = await checks[name]({ ...deps, chain })
      const before = lastResult(chainId, name)
      const result = fault === null ? 'pass' : 'fail'
      results.set(keyOf(chainId, name), checked(name, result, Math.floor(Date.now() / 1_000), fault))
      if (fault !== before.fault) {
        if (fault === null) deps.log.info({ chainId, check: name }, 'start-up check passes again')
        else deps.log.error({ chainId, check: name, fault }, 'start-up check found a fault')
      }
      return result
    } catch (fault) {
      // The last result stays: there is no newer one.
      if (!isUnavailable(fault))
        deps.log.warn({ chainId, check: name, fault: errorText(fault) }, 'start-up check not completed')
      return 'pending'
    }
  }
  const all = [...deps.chains.values()].flatMap((chain) => checkNames.map((name) => [chain, name] as const))

  return {
    /** Returns the last results of a chain. Runs no check. */
    of: (chainId: ChainId): readonly CheckResult[] => checkNames.map((name) => lastResult(chainId, name)),
    /** Runs every check once. */
    async runAll(): Promise<void> {
      await Promise.all(all.map(([chain, name]) => runCheck(chain, name)))
    },
    /**
     * Repeats every check until `signal` aborts: after a pause that depends on its result, and when `changes` reports a
     * change of the protocol's state on that chain (its signer, its payment tokens, its functions).
     */
    async watch(signal: AbortSignal, changes: Pick<Changes, 'version' | 'onCommit'>): Promise<void> {
      // Every check listens to this signal.
      setMaxListeners(0, signal)
      await Promise.all(
        all.map(async ([chain, name]) => {
          const resource = resourceOf([chain.chainId], protocolScope)
          while (!signal.aborted) {
            const version = changes.version(resource)
            const result = await runCheck(chain, name)
            await sleep(MIN_PAUSE_MS, signal)
            await waitForChange(changes, { resource, version }, pauseMs(name, result) - MIN_PAUSE_MS, signal)
          }
        }),
      )
    },
  }
}

export type Checks = ReturnType<typeof createChecks>
