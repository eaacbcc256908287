/** A file of this package that is read and not run: where it is, seen from the sources and from the build alike. */
export const packaged = (path: string): URL => new URL(path, import.meta.resolve('#package'))
