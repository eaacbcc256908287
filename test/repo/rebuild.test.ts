import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'fx-rebuild-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

cpSync('deploy/rebuild.sh', join(folder, 'deploy/rebuild.sh'))
mkdirSync(join(folder, 'deploy/secrets'))
writeFileSync(
  join(folder, 'deploy/secrets/database_url'),
  'postgres://fx:password@postgres:5432/fx_next?sslmode=disable',
)

/** Docker is a function that fails: a rebuild that is not refused ends there. */
const rebuild = (name: string, env: NodeJS.ProcessEnv) => {
  const script = `docker() { echo docker >&2; exit 3; }; export -f docker; bash deploy/rebuild.sh ${name}`
  const { status, stderr } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { status, stderr }
}

test('a rebuild is refused without a version, with a name that PostgreSQL would change, and in the database in use', () => {
  expect(rebuild('fx_third', {})).toEqual({ status: 1, stderr: expect.stringContaining('VERSION: the tag') })
  const given = { VERSION: '1.2.3' }
  expect(rebuild('Fx', given)).toEqual({ status: 2, stderr: expect.stringContaining('expected lower-case letters') })
  expect(rebuild('fx_next', given)).toEqual({
    status: 2,
    stderr: 'the service uses the database fx_next: choose another name\n',
  })
  expect(rebuild('fx_third', given)).toEqual({ status: 3, stderr: expect.stringMatching(/^docker\n/) })
})
