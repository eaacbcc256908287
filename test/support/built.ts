import { fileURLToPath } from 'node:url'

/** Processes that tests start run the build, as they do in production; a project that starts any makes it once before its tests. */
export const setup = async (): Promise<void> => {
  await import('../../build.ts')
}

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/**
 * What starts a command of the product.
 *
 * @example
 * const { command, args } = builtCommand('worker')
 * spawn(command, args, { env })
 */
export const builtCommand = (...words: readonly string[]): { readonly command: string; readonly args: string[] } => ({
  command: process.execPath,
  args: [cli, ...words],
})
