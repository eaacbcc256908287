import { unavailable } from '../lib/errors.ts'
import type { Outcome, Said } from './endpoint.ts'
import { NodeUnreachable } from './errors.ts'
import { isOfTheNode } from './faults.ts'
import type { Keeper } from './keeper.ts'
import { type Member, needsOf } from './member.ts'
import type { Request } from './requests.ts'

/** How long each endpoint is waited for. */
const OPINION_MS = 1_000

/** The request was not looked into. That a block is missing is an answer: the endpoint's chain is without it. */
const isRefused = (outcome: Outcome<unknown>): boolean =>
  !outcome.ok && outcome.error.fault.kind !== 'missing' && isOfTheNode(outcome.error.fault)

const ask = async <const T extends readonly Request<unknown>[]>(
  member: Member,
  requests: T,
): Promise<readonly Said<T>[]> => {
  try {
    const outcomes = await member.send(requests, { timeoutMs: OPINION_MS })
    const all: readonly Outcome<unknown>[] = outcomes
    return all.every(isRefused) ? [] : [{ endpoint: member.index, outcomes }]
  } catch (failure) {
    if (failure instanceof NodeUnreachable) return []
    throw failure
  }
}

/**
 * Sends a batch to every endpoint that may be asked now, side by side, and gives what each said, in the order of preference: doubted
 * ones are last. One that fails, refuses all of it or takes more than a second is left out, and so are those that lag, unless all do.
 * Throws `service_unavailable` when none answers.
 */
export const askAll = async <const T extends readonly Request<unknown>[]>(
  { keeper, chainId }: { readonly keeper: Keeper; readonly chainId: number },
  requests: T,
): Promise<readonly Said<T>[]> => {
  const witnesses = await keeper.witnesses(needsOf(requests))
  const said = (await Promise.all(witnesses.map((member) => ask(member, requests)))).flat()
  if (said.length === 0) throw unavailable(`no node of chain ${chainId} answers`)
  return said
}
