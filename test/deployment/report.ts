import { cpus, loadavg, totalmem } from 'node:os'
import type { Engine } from './engine.ts'
import type { Measured } from './measure.ts'
import type { Compared } from './steps.ts'

export type Figures = {
  readonly engine: Engine
  readonly date: string
  /** Names and versions of what runs in the containers. */
  readonly versions: readonly string[]
  readonly buildSeconds: number
  readonly startSeconds: number
  readonly steps: readonly Measured[]
  readonly compared: readonly Compared[]
  readonly messages: { readonly messages: number; readonly copies: number; readonly refused: number }
  readonly minutes: number
}

const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string => {
  const all = [head, ...rows].map((row) => row.map(String))
  const widths = head.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [first = [], ...rest] = all
  return [line(first), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest.map(line)].join('\n')
}

const COLUMNS = [
  ['API', '`/readyz` of both replicas is 200 and not `degraded`'],
  ['index', 'blocks of both chains that were mined after the step are indexed'],
  ['quotes', 'an API replica reaches the engine'],
  ['webhooks', 'a message that was made after the step arrived; transactions come every 3 s'],
  ['containers', 'all are healthy; those of `api`, `worker` and `engine` are checked every 10 s'],
]

/** The page `docs/operations/deployment-report.md`. */
export const reportOf = (figures: Figures): string => {
  const { engine, steps, compared, messages } = figures
  const all = [...steps, ...compared]
  const signs = Object.keys(all[0]?.signs ?? {})
  const rows = all.map((it) => [it.name, it.step, it.sent, it.failed, ...signs.map((sign) => it.signs[sign] ?? 0)])
  const failures = all.flatMap(({ name, failures }) =>
    Object.entries(failures).map(([reason, times]) => `- ${name}: ${times} × \`${reason}\``),
  )
  const memory = Math.round(totalmem() / 2 ** 30)
  return `# A deployment, tried

\`npm run deployment\` wrote this page on ${figures.date}. It builds the image, runs \`docker-compose.yml\` on a Docker engine
with two local chains, and tries what these pages describe: [install](install.md), [upgrade](upgrade.md),
[rebuild](reindex.md#rebuild-in-a-second-database), [back up and restore](backup.md). It took ${figures.minutes} minutes.

- Machine: ${cpus().length} processors, ${memory} GiB of memory, a load average of ${loadavg()[0]?.toFixed(1)} at the end, of other programs too.
  Docker ${engine.engine}, compose ${engine.compose}.
- In the containers: ${figures.versions.join(', ')}.${engine.areStandIns ? '\n- The base images are stand-ins from Debian packages (`STAND_IN_IMAGES=1`), because no registry was in reach.' : ''}
- Left out: Prometheus, Alertmanager and Grafana. One host: no failover of PostgreSQL.
- The image was built in ${figures.buildSeconds} s, from the engine's build cache where it has one.
- All containers were healthy and both indexes ready ${figures.startSeconds} s after the first start.

## Times

A client sent one request after the other, ten a second at most, through a balancer. It probes \`/readyz\` four times a
second, and sends a GET whose connection broke to the next replica. Seconds count from the end of the step until
something held for good: 0 if it always did.

${table(['column', 'holds when'], COLUMNS)}

${table(['step', 'step took (s)', 'requests', 'failed', ...signs.map((sign) => `${sign} (s)`)], rows)}

${failures.length === 0 ? 'No request failed.' : `Failed requests:\n\n${failures.join('\n')}`}

Without the database, the API answers single records from the nodes, and lists with 503. On a restore, every process
stops. A process is killed by SIGKILL, as by a crash, and its restart policy starts it again. After \`docker kill\` no
policy does: start it with \`docker compose up --detach\`.

## What no chain has

Counts before and after, with no transaction under way, and how many rows are lost: present before and absent after.
_Twice_ counts the messages that the receiver got again meanwhile. A rebuild adds one message, \`changes.reset\`, for each
endpoint that gets activity or changes. Each rebuild was followed by \`dropdb\` of the previous database.

${table(
  ['step', 'endpoints', 'deliveries', 'settlements', 'lost', 'twice'],
  compared.map(({ name, before, after, lost, copies }) => [
    name,
    ...(['endpoints', 'deliveries', 'settlements'] as const).map(
      (key) => `${before[key].length} → ${after[key].length}`,
    ),
    lost,
    copies,
  ]),
)}

${compared
  .filter(({ output }) => output !== '')
  .map(({ name, output }) => `- ${name}: ${output}`)
  .join('\n')}

In the whole run, the receiver got ${messages.messages} messages, ${messages.copies} copies of them, and ${messages.refused} with a wrong signature.
After a kill or a partition, a message whose answer was lost is sent again with the same \`webhook-id\`.
`
}
