import type { Step } from '../text/life.ts'
import { timeText } from '../text/time.ts'
import { Time, Transaction } from './values.tsx'

type Props = { readonly label: string; readonly chainId: number; readonly steps: readonly Step[] }

/** What happened to something and what comes next, the oldest step first. */
export const Timeline = ({ label, chainId, steps }: Props) => (
  <ol class="timeline" aria-label={label}>
    {steps.map(({ title, detail, at, tx, ahead = false }) => (
      <li key={`${title} ${at} ${tx}`} class={ahead ? 'ahead' : ''}>
        <strong>{title}</strong>
        {at !== null && (
          <span class="muted">
            {' '}
            {timeText(at)} (<Time at={at} />)
          </span>
        )}
        {detail !== undefined && <p>{detail}</p>}
        {tx && (
          <p class="muted">
            Transaction <Transaction chainId={chainId} hash={tx} />
          </p>
        )}
      </li>
    ))}
  </ol>
)
