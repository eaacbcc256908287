import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'

export const Resource = z.strictObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.unknown().optional(),
  data: z.unknown().optional(),
})
export type Resource = z.output<typeof Resource>

/** Operations of a JSON patch that `build` knows: `add` appends to a list or sets a key, `replace` changes a key. */
const Operations = z.array(z.strictObject({ op: z.enum(['add', 'replace']), path: z.string(), value: z.unknown() }))
type Operation = z.output<typeof Operations>[number]

const Patch = z.union([
  z.strictObject({ path: z.string() }),
  z.strictObject({
    target: z.strictObject({ kind: z.string(), name: z.string() }),
    options: z.strictObject({ allowNameChange: z.literal(true) }).optional(),
    patch: z.string(),
  }),
])
type Patch = z.output<typeof Patch>

/** The keys of a kustomization that `build` knows. Any other one is an error. */
const Kustomization = z.strictObject({
  apiVersion: z.string(),
  kind: z.enum(['Kustomization', 'Component']),
  namespace: z.string().optional(),
  resources: z.array(z.string()).default([]),
  components: z.array(z.string()).default([]),
  patches: z.array(Patch).default([]),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })).default([]),
  configMapGenerator: z
    .array(
      z.union([
        z.strictObject({ name: z.string(), envs: z.tuple([z.string()]) }),
        z.strictObject({ name: z.string(), files: z.tuple([z.string()]) }),
      ]),
    )
    .default([]),
})
type Kustomization = z.output<typeof Kustomization>

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A strategic merge without merge keys: maps are merged, and lists and values replaced. */
const merge = (old: unknown, patch: unknown): unknown =>
  isMap(old) && isMap(patch)
    ? { ...old, ...Object.fromEntries(Object.entries(patch).map(([key, value]) => [key, merge(old[key], value)])) }
    : patch

const resourcesOf = (file: string): Resource[] =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => Resource.parse(document.toJS()))

/** `NAME=value` lines. */
const valuesOf = (file: string): Record<string, string> =>
  Object.fromEntries([...readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))

const configMap = (folder: string, generator: Kustomization['configMapGenerator'][number]): Resource => {
  const data =
    'envs' in generator
      ? valuesOf(join(folder, generator.envs[0]))
      : { [generator.files[0]]: readFileSync(join(folder, generator.files[0]), 'utf8') }
  return { ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: generator.name }, data } }
}

/** The value with another one at the end of a path. */
const withValue = (value: unknown, [key = '-', ...path]: readonly string[], operation: Operation): unknown => {
  const { op, value: given } = operation
  const inner = (old: unknown): unknown => (path.length === 0 ? given : withValue(old, path, operation))
  if (Array.isArray(value))
    return key === '-' && op === 'add' ? [...value, given] : value.with(Number(key), inner(value[Number(key)]))
  if (!isMap(value) || !(Object.hasOwn(value, key) || (op === 'add' && path.length === 0)))
    throw new Error(`no ${key} to ${op}`)
  return { ...value, [key]: inner(value[key]) }
}

const withOperations = (resource: Resource, operations: readonly Operation[]): Resource =>
  Resource.parse(operations.reduce<unknown>((value, it) => withValue(value, it.path.split('/').slice(1), it), resource))

/** The resources with a change of one of them. It throws when it is of none of them. */
const changed = (
  resources: readonly Resource[],
  { kind, name }: { readonly kind: string; readonly name: string },
  change: (resource: Resource) => Resource,
): Resource[] => {
  const isMeant = (it: Resource): boolean => it.kind === kind && it.metadata.name === name
  if (!resources.some(isMeant)) throw new Error(`no ${kind} ${name} to patch`)
  return resources.map((it) => (isMeant(it) ? change(it) : it))
}

const patched = (folder: string, resources: readonly Resource[], patch: Patch): Resource[] =>
  'path' in patch
    ? resourcesOf(join(folder, patch.path)).reduce<Resource[]>(
        (all, it) => changed(all, { kind: it.kind, name: it.metadata.name }, (old) => Resource.parse(merge(old, it))),
        [...resources],
      )
    : changed(resources, patch.target, (it) => withOperations(it, Operations.parse(parse(patch.patch))))

const inNamespace = (resource: Resource, namespace: string | undefined): Resource =>
  namespace === undefined || resource.kind === 'Namespace'
    ? resource
    : { ...resource, metadata: { ...resource.metadata, namespace } }

/** The value with each image of a container replaced. */
const withImages = (value: unknown, images: Kustomization['images']): unknown => {
  if (Array.isArray(value)) return value.map((it) => withImages(it, images))
  if (!isMap(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, it]) => {
      const image = images.find(({ name }) => key === 'image' && it === name)
      return [key, image === undefined ? withImages(it, images) : `${image.newName}:${image.newTag}`]
    }),
  )
}

/**
 * The resources of a kustomization, as `kubectl kustomize` prints them, but for the hash in the name of a generated
 * ConfigMap. A component is applied to the resources before it.
 */
export const build = (folder: string, before: readonly Resource[] = []): Resource[] => {
  const own = Kustomization.parse(parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')))
  const read = own.resources.flatMap((path) =>
    path.endsWith('.yaml') ? resourcesOf(join(folder, path)) : build(join(folder, path)),
  )
  const generated = own.configMapGenerator.map((it) => configMap(folder, it))
  const all = own.components.reduce<Resource[]>(
    (resources, path) => build(join(folder, path), resources),
    [...before, ...read, ...generated],
  )
  return own.patches
    .reduce<Resource[]>((resources, patch) => patched(folder, resources, patch), all)
    .map((resource) => Resource.parse(withImages(inNamespace(resource, own.namespace), own.images)))
}
