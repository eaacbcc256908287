import { useRequests } from '../api/requests.ts'
import { Copy } from './copy.tsx'
import { Scroll } from './scroll.tsx'

/** The requests behind this page, as commands. */
export const Requests = () => {
  const commands = useRequests()
  if (commands.length === 0) return null
  const text = commands.join('\n')
  return (
    <details class="requests">
      <summary>This page as curl</summary>
      <Copy text={text} />
      <Scroll label="Commands">
        <pre>
          <code>{text}</code>
        </pre>
      </Scroll>
    </details>
  )
}
