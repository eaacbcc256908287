import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const { resolve } = createRequire(import.meta.url)

/** A file of this package that is read and not run: where it is, seen from the sources and from the build alike. */
export const packaged = (path: string): URL => new URL(path, pathToFileURL(resolve('#package')))
