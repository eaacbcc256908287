import { fileURLToPath } from 'node:url'
import { share } from './shared-setup.ts'

/** Builds the product once per run: the processes that tests start run the build, as in production. */
export const setup = async (): Promise<() => Promise<void>> => {
  const { release } = await share('build', async () => {
    await import('../../build.ts')
    return { value: undefined, close: async () => {} }
  })
  return release
}

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/**
 * The program and arguments that start a command of the product.
 *
 * @example
 * const { command, args } = builtCommand('worker')
 * spawn(command, args, { env })
 */
export const builtCommand = (...words: readonly string[]): { readonly command: string; readonly args: string[] } => ({
  command: process.execPath,
  args: [cli, ...words],
})
