import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const { resolve } = createRequire(import.meta.url)

/** The URL of a data file of this package. It is the same for the sources and for the build. */
export const packaged = (path: string): URL => new URL(path, pathToFileURL(resolve('#package')))
