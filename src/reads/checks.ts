import { setMaxListeners } from 'node:events'
import { zeroAddress } from 'viem'
import type { Chain } from '../chain/chain.ts'
import { isRevert, toServiceError } from '../chain/errors.ts'
import { decimalsOf } from '../chain/tokens.ts'
import { protocolScope } from '../db/scopes.ts'
import { errorText, isUnavailable, unavailable } from '../lib/errors.ts'
import { sleep } from '../lib/lifecycle.ts'
import type { Logger } from '../lib/log.ts'
import type { PricingClient } from '../pricing/client.ts'
import { Signing } from '../pricing/contract.ts'
import { type ChainId, startBlockFault } from '../protocol/chains.ts'
import { call } from '../protocol/outputs.ts'
import { profiles } from '../protocol/profiles.ts'
import { configuredTokens } from '../protocol/tokens.ts'
import { type Changes, resourceOf, waitForChange } from './changes.ts'
import { placesOf } from './used.ts'

type Asked = {
  readonly chain: Chain
  readonly pricing: Pick<PricingClient, 'signer' | 'health'>
  /** The functions that transactions are built for. */
  readonly writes: readonly string[]
}

/** What is assumed of the world, each held against it: gives what is wrong and what to do, or null. Throws when nobody can tell. */
const checks = {
  async nodes({ chain }: Asked) {
    // Nodes that all are of another chain have no head to tell.
    const silence = await chain.head().then(
      () => null,
      (fault: unknown) => fault,
    )
    const { chainId } = chain
    const { endpoints } = chain.status()
    const wrong = endpoints.filter(({ state }) => state === 'wrong chain').map(({ index }) => index)
    if (wrong.length > 0) {
      return `Of RPC_URLS_${chainId}, the nodes at ${wrong.join(', ')} (counted from 0) are of another chain and not used: correct or remove them.`
    }
    if (silence !== null) throw silence
    const silent = endpoints.find(({ state }) => state === 'unseen' || state === 'resting')
    if (silent) throw unavailable(`the node at ${silent.index} has not told its chain`)
    return null
  },

  async startBlock({ chain }: Asked) {
    return startBlockFault(chain.deployment, (await chain.head()).number)
  },

  async functions({ chain, writes }: Asked) {
    const { chainId, deployment } = chain
    const used = placesOf(profiles[deployment.profile], writes)
    const places = await chain.pinned((block) =>
      chain.readAt(
        block,
        used.map(({ place }) => place),
      ),
    )
    if (places.every(({ ok }) => !ok)) {
      return `At DIAMOND_ADDRESS_${chainId} nothing tells which functions it has: see that it is the protocol's diamond.`
    }
    const missing = used.filter((_, at) => {
      const place = places[at]
      return place?.ok !== true || place.value === zeroAddress
    })
    if (missing.length === 0) return null
    const names = missing.map(({ name }) => name).join(', ')
    return `The diamond of chain ${chainId} has no ${names}: what needs them fails. See that DIAMOND_ADDRESS_${chainId} and PROFILE_${chainId} are right.`
  },

  async tokens({ chain }: Asked) {
    const tokens = configuredTokens(chain.deployment)
    const told = await chain.send(tokens.map(({ token }) => decimalsOf(token)))
    for (const said of told) if (!said.ok && !isRevert(said.error)) throw toServiceError(said.error)
    const wrong = tokens.flatMap(({ symbol, decimals }, at) => {
      const said = told[at]
      if (said?.ok && said.value === decimals) return []
      return [`${symbol}_ADDRESS_${chain.chainId} has ${said?.ok ? said.value : 'no'} decimals, and not ${decimals}`]
    })
    return wrong.length === 0 ? null : `${wrong.join('; ')}: amounts would mean something else. Correct the address.`
  },

  async paymentTokens({ chain }: Asked) {
    const { chainId, deployment } = chain
    const tokens = configuredTokens(deployment)
    const answers = await chain.pinned((block) =>
      chain.readAt(
        block,
        tokens.map(({ token }) => call('isAllowedPaymentToken', [token])),
      ),
    )
    // Without the view the `functions` check has the fault, and here nothing is known.
    if (answers.some(({ ok }) => !ok))
      throw unavailable(`the diamond of chain ${chainId} does not say which tokens it allows`)
    const refused = tokens.filter((_, at) => answers[at]?.ok && !answers[at].value)
    if (refused.length === 0) return null
    const names = refused.map(({ symbol, token }) => `${symbol}_ADDRESS_${chainId} (${token})`).join(' and ')
    return `The diamond of chain ${chainId} does not allow ${names} as payment token: creating an event in it reverts. Have its owner allow it (/v1/tx/hedge/set-allowed-payment-token), or correct the address.`
  },

  async signer({ chain, pricing }: Asked) {
    const { chainId } = chain
    const [[registered], { signerAddress }] = await Promise.all([
      chain.pinned((block) => chain.readAt(block, [call('getPricingEngineSigner')])),
      pricing.signer(),
    ])
    // Without a registered signer the protocol looks at no signature, without a key the engine gives none.
    if (!registered.ok || registered.value === zeroAddress || signerAddress === null) return null
    if (registered.value.toLowerCase() === signerAddress.toLowerCase()) return null
    return `The engine signs as ${signerAddress}, chain ${chainId} takes quotes of ${registered.value}: every signed quote fails. Give the engine that signer's key, or register its own.`
  },

  async signing({ chain, pricing }: Asked) {
    const { chainId } = chain
    const health = await pricing.health().catch((fault: unknown) => {
      if (!isUnavailable(fault)) throw fault
      return null
    })
    if (health === null)
      return 'The pricing engine does not answer at ENGINE_URL, so quotes are 503. Start it, or correct ENGINE_URL.'
    const signing = Signing.nullish().parse(health.signing)
    // An engine without a key signs nothing, and is meant to.
    if (signing == null) return null
    const reason = signing.chains.find((it) => it.chainId === chainId)?.reason
    const faults = [...(reason == null ? [] : [reason]), ...signing.rates]
    return faults.length === 0 ? null : `Quotes for chain ${chainId} are not signed, or not all: ${faults.join('; ')}.`
  },
} as const satisfies Readonly<Record<string, (asked: Asked) => Promise<string | null>>>

export type CheckName = keyof typeof checks

export const checkNames = Object.keys(checks) as CheckName[]

/** What was found; `waiting` until somebody could tell. */
export type Checked = {
  readonly name: CheckName
  readonly state: 'waiting' | 'right' | 'wrong'
  /** What is wrong, and what to do; null when nothing is. */
  readonly fault: string | null
  /** Unix milliseconds. */
  readonly at: number | null
}

export type Checks = {
  /** What is known of a chain; asks nobody. */
  of(chainId: ChainId): readonly Checked[]
  /** Looks at everything once. */
  look(): Promise<void>
  /**
   * Repeats every check until `signal` aborts: after a pause that depends on its result, and at once when `changes` reports that a chain's
   * protocol state changed (its signer, its payment tokens, its functions).
   */
  watch(signal: AbortSignal, changes: Pick<Changes, 'version' | 'onCommit'>): Promise<void>
}

/** The pause after a check, in milliseconds. */
const AGAIN_MS: Readonly<Record<Checked['state'], number>> = { waiting: 5_000, wrong: 30_000, right: 60_000 }

/** The shortest pause, in milliseconds: every new event changes the protocol's state. */
const AT_MOST_EVERY_MS = 2_000

/** Clocks, nodes and rates change while nothing is configured anew. */
const SIGNING_AGAIN_MS = 10_000

const againMs = (name: CheckName, state: Checked['state']): number =>
  Math.min(AGAIN_MS[state], name === 'signing' ? SIGNING_AGAIN_MS : Number.POSITIVE_INFINITY)

/**
 * Holds what the configuration says against the nodes, the diamond, its tokens and the engine. Each finding is logged when it changes; none
 * of them stops the service, because what it concerns may be the smaller part.
 */
export const createChecks = (
  deps: { readonly chains: ReadonlyMap<ChainId, Chain>; readonly log: Logger } & Omit<Asked, 'chain'>,
): Checks => {
  const found = new Map<string, Checked>()
  const keyOf = (chainId: ChainId, name: CheckName): string => `${chainId} ${name}`
  const known = (chainId: ChainId, name: CheckName): Checked =>
    found.get(keyOf(chainId, name)) ?? { name, state: 'waiting', fault: null, at: null }

  const lookAt = async (chain: Chain, name: CheckName): Promise<Checked['state']> => {
    const { chainId } = chain
    try {
      const fault = await checks[name]({ ...deps, chain })
      const before = known(chainId, name)
      const state = fault === null ? 'right' : 'wrong'
      found.set(keyOf(chainId, name), { name, state, fault, at: Date.now() })
      if (fault !== before.fault) {
        if (fault === null) deps.log.info({ chainId, check: name }, 'start-up check is right again')
        else deps.log.error({ chainId, check: name, fault }, 'start-up check found a fault')
      }
      return state
    } catch (fault) {
      // What was found before stands; nobody can tell anything newer.
      if (!isUnavailable(fault))
        deps.log.warn({ chainId, check: name, fault: errorText(fault) }, 'start-up check failed')
      return 'waiting'
    }
  }
  const all = [...deps.chains.values()].flatMap((chain) => checkNames.map((name) => [chain, name] as const))

  return {
    of: (chainId) => checkNames.map((name) => known(chainId, name)),
    async look() {
      await Promise.all(all.map(([chain, name]) => lookAt(chain, name)))
    },
    async watch(signal, changes) {
      // Each check waits on it.
      setMaxListeners(0, signal)
      await Promise.all(
        all.map(async ([chain, name]) => {
          const resource = resourceOf([chain.chainId], protocolScope)
          while (!signal.aborted) {
            const version = changes.version(resource)
            const state = await lookAt(chain, name)
            await sleep(AT_MOST_EVERY_MS, signal)
            await waitForChange(changes, { resource, version }, againMs(name, state) - AT_MOST_EVERY_MS, signal)
          }
        }),
      )
    },
  }
}
