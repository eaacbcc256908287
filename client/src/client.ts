import { type Change, type ChangesOptions, followChanges } from './changes.ts'
import { waitForTransaction } from './confirm.ts'
import { type Executed, type ExecuteOptions, executePlan, type Plan, type Transaction } from './execute.ts'
import { type FollowOptions, followSettlements, type Settlement } from './follow.ts'
import { type ListOptions, listRows } from './lists.ts'
import { createPlans } from './plans.ts'
import { createRequests } from './requests.ts'
import type { Waiting } from './settle.ts'
import { createTransport, type TransportOptions } from './transport.ts'
import type { ListPath, Params, Row } from './types.ts'
import type { Wallet } from './wallet.ts'

/**
 * A client of the API: all operations by path (`get`, `post`, `delete`), and what takes more than one request.
 *
 * @example
 * const client = createClient({ baseUrl: 'http://127.0.0.1:3000' })
 * for await (const position of client.positions.list({ wallet })) console.log(position.id, position.notional)
 */
export const createClient = (options: TransportOptions) => {
  const transport = createTransport(options)
  const api = createRequests(transport)

  const list = <P extends ListPath>(
    path: P,
    params: Params<P>,
    given?: ListOptions,
  ): AsyncGenerator<Row<P>, void, undefined> => listRows(api, path, params, given)

  const lists = <P extends ListPath>(path: P) => ({
    /** The rows of all pages, each once: those that existed at the first page. */
    list: (...[params, given]: ListArguments<P>) => list(path, Object(params) as Params<P>, given),
  })

  return {
    ...api,
    /** The rows of any paginated list; see `ListOptions.onReorg`. */
    list,
    events: lists('/v1/hedge/events'),
    positions: lists('/v1/hedge/positions'),
    deposits: lists('/v1/hedge/deposits'),
    activity: lists('/v1/activity'),
    settlements: {
      /** Settlements and their reversals, each once, through failures and restarts. Ends with `signal`. */
      follow: (given?: FollowOptions): AsyncGenerator<Settlement, void, undefined> =>
        followSettlements(transport, api, given),
    },
    changes: {
      /** What changed after a cursor, through failures and restarts: keep a copy exact with it. Ends with `signal`. */
      follow: (given?: ChangesOptions): AsyncGenerator<Change, void, undefined> => followChanges(transport, api, given),
    },
    /** What a wallet wants as transactions, simulated: a function per action. */
    plans: createPlans(api),
    /** Sends a plan with a viem wallet client and waits until it is mined and indexed. Throws ExecutionError. */
    execute: (plan: Plan, wallet: Wallet, given?: ExecuteOptions): Promise<Executed> =>
      executePlan(api, plan, wallet, given),
    /**
     * Waits until a transaction is mined and indexed, for example one that was sent before a restart. Throws
     * ExecutionError when it reverts or is replaced, and when it is not mined in time.
     */
    waitForTransaction: (chainId: number, hash: string, waiting?: Waiting): Promise<Transaction> =>
      waitForTransaction(api, chainId, hash, waiting),
  }
}

type ListArguments<P extends ListPath> = [params?: Params<P>, options?: ListOptions]

/** The client of `createClient`. */
export type Client = ReturnType<typeof createClient>
