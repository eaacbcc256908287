import { Link } from 'wouter-preact'
import { actions } from '../act/actions.ts'

const all = Object.entries(actions)
const groups = [...new Set(all.map(([, { who }]) => who))]

/** All actions, by who does them. */
export const ActPage = () => (
  <>
    <h1>Act</h1>
    <p class="lead">
      Every action is simulated first: what it costs, what changes, and why it would fail. Nothing is sent before you
      sign it in your wallet.
    </p>
    {groups.map((group) => (
      <section key={group}>
        <h2>{group}</h2>
        <div class="doors">
          {all
            .filter(([, { who }]) => who === group)
            .map(([name, { title, about }]) => (
              <Link key={name} href={`/act/${name}`} class="card door">
                <strong>{title}</strong>
                <span>{about}</span>
              </Link>
            ))}
        </div>
      </section>
    ))}
  </>
)
