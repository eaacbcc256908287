import { formatUnits, getAddress } from 'viem'
import { z } from 'zod'
import type { Accounts, Wallet } from '../story/accounts.ts'
import type { Actions, EventNow } from '../story/actions.ts'
import { ControlError } from './failure.ts'
import type { Done, SandboxState } from './messages.ts'

/** What the controls act on. */
export type Controlled = {
  readonly chains: readonly { readonly name: string; readonly actions: Actions }[]
  readonly accounts: Accounts
}

const DAY = 86_400
const MAX_ADVANCE_SECONDS = 366 * DAY

/** A longer reorg would reach blocks that the node reports as final. */
const MAX_REORG_BLOCKS = 32

const chainId = z.int().positive()
const eventId = z.int().positive()
const ofEvent = { chainId, eventId }

/** A positive integer as a decimal string. */
const amount = z.string().regex(/^[1-9]\d{0,29}$/, 'expected a positive integer of at most 30 digits, as a string')
const positive = amount.transform(BigInt)

const chainOf = ({ chains }: Controlled, id: number | undefined) => {
  const found = chains.find(({ actions }) => actions.chain.chainId === id)
  if (found === undefined) throw new ControlError(404, `the sandbox has no chain ${id}`)
  return found
}

const unsettled = async ({ chain, event }: Actions, id: number): Promise<EventNow> => {
  const found = await event(BigInt(id))
  if (found.id === 0n) throw new ControlError(404, `event ${id} does not exist on chain ${chain.chainId}`)
  if (found.settled) throw new ControlError(409, `event ${id} is settled`)
  return found
}

/** Moves the clocks of all chains, so that the sandbox has one time. */
const advance = async ({ chains }: Controlled, seconds: number): Promise<void> => {
  if (seconds > MAX_ADVANCE_SECONDS)
    throw new ControlError(409, `that is ${Math.ceil(seconds / DAY)} days away: one step is at most 366 days`)
  await Promise.all(chains.map(({ actions }) => actions.advance(seconds)))
}

const userOf = ({ accounts }: Controlled, address: string): Wallet => {
  const found = accounts.users.find(({ account }) => account.address.toLowerCase() === address.toLowerCase())
  if (found === undefined)
    throw new ControlError(404, `${address.slice(0, 42)} is not an account of the sandbox wallet`)
  return found
}

const clockNow = (): number => Math.floor(Date.now() / 1_000)

const action = <S extends z.ZodType, R extends Done | SandboxState>(
  schema: S,
  run: (controlled: Controlled, body: z.output<S>) => Promise<R>,
) => ({ run: (controlled: Controlled, body: unknown): Promise<R> => run(controlled, schema.parse(body)) })

/** The controls by their names: what each takes, and what it does. */
export const controls = {
  state: action(
    z.object({ chainId: chainId.optional(), eventId: eventId.optional() }),
    async (controlled, body): Promise<SandboxState> => {
      const { actions } = chainOf(controlled, body.chainId ?? controlled.chains[0]?.actions.chain.chainId)
      const [time, event] = await Promise.all([actions.now(), body.eventId && actions.event(BigInt(body.eventId))])
      return {
        chains: controlled.chains.map(({ name, actions: { chain } }) => ({
          chainId: chain.chainId,
          name,
          tokens: chain.tokens,
        })),
        accounts: controlled.accounts.users.map(({ index, account }) => ({
          address: account.address,
          name: `account ${index}`,
        })),
        time,
        aheadSeconds: Math.max(0, time - clockNow()),
        event:
          event && event.id > 0n
            ? {
                id: Number(event.id),
                name: event.name,
                strike: String(event.strike),
                payoutCap: String(event.payoutCap),
                strikeAbove: event.strikeAbove,
                expiry: event.expiry,
                isSettled: event.settled,
              }
            : null,
      }
    },
  ),

  'advance-time': action(
    z.object({ seconds: z.int().positive().max(MAX_ADVANCE_SECONDS) }),
    async (to, { seconds }) => {
      await advance(to, seconds)
      return { done: `The clocks of all chains are ${seconds} seconds later.` }
    },
  ),

  'advance-to-expiry': action(z.object(ofEvent), async (controlled, body) => {
    const { actions } = chainOf(controlled, body.chainId)
    const { expiry } = await unsettled(actions, body.eventId)
    const seconds = expiry - (await actions.now())
    if (seconds <= 0) throw new ControlError(409, `event ${body.eventId} has expired`)
    await advance(controlled, seconds)
    return { done: `Event ${body.eventId} has expired: it can be settled.` }
  }),

  'submit-rates': action(
    z.object({ ...ofEvent, rate: positive, oracles: z.int().min(1).max(3) }),
    async (controlled, { chainId, eventId, rate, oracles }) => {
      const { actions } = chainOf(controlled, chainId)
      const { expiry } = await unsettled(actions, eventId)
      if (expiry > (await actions.now()))
        throw new ControlError(409, `event ${eventId} has not expired: advance the time to its expiry first`)
      for (const oracle of controlled.accounts.oracles.slice(0, oracles)) {
        await actions.submitRate(oracle, BigInt(eventId), rate)
        if ((await actions.event(BigInt(eventId))).settled) return { done: `Event ${eventId} is settled.` }
      }
      return { done: `Event ${eventId} has a rate and waits for one more that agrees.` }
    },
  ),

  mint: action(
    z.object({ chainId, account: z.string(), token: z.string(), amount: positive }),
    async (controlled, body) => {
      const { actions } = chainOf(controlled, body.chainId)
      const wallet = userOf(controlled, body.account)
      const token = actions.chain.tokens.find(({ address }) => address.toLowerCase() === body.token.toLowerCase())
      if (token === undefined) throw new ControlError(404, `${body.token.slice(0, 42)} is not a token of the sandbox`)
      await actions.mint(wallet, getAddress(token.address), body.amount)
      return { done: `Account ${wallet.index} has ${formatUnits(body.amount, token.decimals)} ${token.symbol} more.` }
    },
  ),

  reorg: action(
    z.object({ chainId, blocks: z.int().min(1).max(MAX_REORG_BLOCKS) }),
    async (controlled, { chainId, blocks }) => {
      const { actions, name } = chainOf(controlled, chainId)
      await actions.reorg(blocks)
      return {
        done: `A reorg of ${blocks === 1 ? '1 block' : `${blocks} blocks`} removed the newest transactions of ${name}.`,
      }
    },
  ),
}

export type ControlName = keyof typeof controls

export const isControl = (name: string): name is ControlName => Object.hasOwn(controls, name)
