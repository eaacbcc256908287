import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../../src/sandbox/story/random.ts'
import { claimOf, type createChainCheck } from './chain-check.ts'
import { type Client, type Places, plain } from './client.ts'
import { note, type Report } from './report.ts'

/** Pauses before a record that differs from the chain is read again, in milliseconds. */
const AGAIN_MS = [100, 400, 0]

type Deps = Places & {
  readonly client: Client
  readonly checkChain: ReturnType<typeof createChainCheck>
  readonly random: Random
  readonly report: Report
}

/** Compares a record of one API with the chain at the block of the answer. */
export const createRecordCheck =
  ({ cached, uncached, client, checkChain, random, report }: Deps) =>
  async (path: string): Promise<void> => {
    for (const pause of AGAIN_MS) {
      const { status, headers, body } = await client.ask(random.pick([cached, uncached]), path, plain)
      const claim = status === 200 ? claimOf(path, headers, body, random.pick) : null
      if (claim === null) return
      const wrong = await checkChain(claim)
      if (wrong?.length === 0) {
        report.chain.checked += 1
        return
      }
      if (wrong === null) report.chain.gone += 1
      else note(pause === 0 ? report.unexplained : report.silent, ...wrong)
      await sleep(pause)
    }
  }
