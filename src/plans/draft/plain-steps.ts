import type { Address } from 'viem'
import { type Facts, factRequests, factsOf } from '../steps/facts.ts'
import type { Step } from '../steps/step.ts'
import { baseOf, type Draft, tokensOf } from './contents.ts'
import type { Situation } from './situation.ts'

/** Reads the facts of the entities of steps. */
const readFacts = async ({ chain, block }: Situation, steps: readonly Step[]): Promise<Facts[]> => {
  const requests = steps.map(({ entity }) => factRequests(entity, chain.deployment.diamond, block.hash))
  if (requests.flat().length === 0) return steps.map(() => ({}))
  const { outcomes } = await chain.send({ outcomes: requests.flat() })
  const left = [...outcomes]
  return steps.map(({ entity }, nth) => factsOf(entity, left.splice(0, requests[nth]?.length)))
}

/** Drafts steps that need no approval. */
export const draftSteps = async (
  situation: Situation,
  steps: readonly Step[],
  tokens: readonly Address[],
): Promise<Draft> => ({
  ...baseOf(situation),
  steps,
  facts: await readFacts(situation, steps),
  tokens: [...new Set([...tokensOf(situation.chain), ...tokens])],
})
