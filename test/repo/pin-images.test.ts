import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readCompose } from '../support/compose.ts'

const folder = mkdtempSync(join(tmpdir(), 'fx-pin-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Docker without a registry: the digest of an image is made of its name. The variable FAILING names one that it lacks. */
writeFileSync(
  join(folder, 'docker'),
  `#!/bin/sh
for image; do :; done
case "$1" in
  pull) echo "pulled $image"; test "$image" != "$FAILING" ;;
  image) echo "\${image%%:*}@sha256:$(printf %s "$image" | sha256sum | cut -c 1-64)" ;;
esac
`,
  { mode: 0o755 },
)

const pin = (failing = '') =>
  spawnSync('bash', ['deploy/pin-images.sh'], {
    env: { PATH: `${folder}:${process.env.PATH}`, FAILING: failing },
    encoding: 'utf8',
  })

test('the override names every image by its digest, and the base image of every service that is built', () => {
  const { status, stdout } = pin()
  expect(status).toBe(0)
  const digest = /^[a-z/-]+@sha256:[0-9a-f]{64}$/
  const wanted = Object.entries(readCompose().services).map(([name, { build }]) => [
    name,
    build === undefined
      ? { image: expect.stringMatching(digest) }
      : { build: { context: '.', args: { NODE_IMAGE: expect.stringMatching(digest) } } },
  ])
  expect(parse(stdout)).toEqual({ services: Object.fromEntries(wanted) })
})

test('without one of the images there is no override', () => {
  const [, node] = /^ARG NODE_IMAGE=(.*)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? []
  for (const image of [readCompose().services.grafana?.image, node]) {
    const { status, stdout, stderr } = pin(image)
    expect([status, stdout], image).toEqual([1, ''])
    expect(stderr).toContain(`pulled ${image}`)
  }
})
