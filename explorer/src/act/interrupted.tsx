import { Link } from 'wouter-preact'
import { forgetInterrupted } from './execution.ts'
import type { Kept } from './kept.ts'

/** An execution whose page ended before its outcome was known: it is looked at before something is signed again. */
export const Interrupted = ({ execution: { chainId, from, hashes } }: { readonly execution: Kept }) => (
  <div class="problem" role="alert">
    <p>
      <strong>This page was loaded again before the outcome of a transaction was known.</strong>{' '}
      {hashes.length === 0 ? 'The wallet may have sent it.' : 'It was sent.'} Look at it before you sign again.
    </p>
    <p class="actions">
      {hashes.map((hash) => (
        <Link key={hash} class="button plain" href={`/tx/${chainId}/${hash}`}>
          Open transaction {hash.slice(0, 10)}…
        </Link>
      ))}
      <Link class="button plain" href={`/wallet/${from}`}>
        Open the wallet
      </Link>
      <button type="button" class="plain" onClick={forgetInterrupted}>
        I have looked: go on
      </button>
    </p>
  </div>
)
