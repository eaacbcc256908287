/** The options of the sandbox that npm took for itself. */
export type NpmOptions = {
  readonly quiet: boolean
  readonly persist: string | undefined
  /** A note for the user; undefined when npm took nothing. */
  readonly note: string | undefined
}

/**
 * The options of `npm start --quiet --persist=DIR`. Without `--` before them npm takes them for itself and leaves them in
 * the environment; `--quiet` is its name for a level of its log. Of `--persist DIR` it leaves no folder.
 */
export const npmOptions = (env: NodeJS.ProcessEnv = process.env): NpmOptions => {
  const isStart = env.npm_lifecycle_event === 'start'
  const quiet = isStart && (env.npm_config_quiet === 'true' || env.npm_config_loglevel === 'warn')
  const folder = isStart ? env.npm_config_persist : undefined
  const persist = folder === '' || folder === 'true' ? undefined : folder
  const given = [...(quiet ? ['--quiet'] : []), ...(folder === undefined ? [] : [`--persist=${persist ?? 'DIR'}`])]
  const note = given.length === 0 ? undefined : `npm takes options before --, use: npm start -- ${given.join(' ')}`
  return { quiet, persist, note }
}
