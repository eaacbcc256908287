import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { writeEnvFile } from '../../src/sandbox/env-file.ts'

test('the file has its values for a shell as for Node, and only its owner may read it', async () => {
  const values = {
    DATABASE_URL: 'postgresql://postgres:a+b@127.0.0.1:5432/postgres',
    NAME: 'BNB Smart Chain',
    COMMAND: 'a; $(b) `c` "d"',
    OWNER: "the sandbox's",
    EMPTY: '',
  }
  const { path, remove } = await writeEnvFile(values)
  try {
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
    const names = Object.keys(values)
    const print = names.map((name) => `printf '%s\\n' "$${name}"`).join('; ')
    const byShell = execFileSync('sh', ['-c', `. ${path}; ${print}`], { encoding: 'utf8', env: {} })
    const script = `console.log(${JSON.stringify(names)}.map((name) => process.env[name]).join('\\n'))`
    const byNode = execFileSync(process.execPath, [`--env-file=${path}`, '-e', script], { encoding: 'utf8', env: {} })
    const expected = `${Object.values(values).join('\n')}\n`
    expect([byShell, byNode]).toEqual([expected, expected])
  } finally {
    await remove()
  }
})
