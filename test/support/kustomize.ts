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

/** The keys of a kustomization that `build` knows. Any other one is an error. */
const Kustomization = z.strictObject({
  apiVersion: z.string(),
  kind: z.enum(['Kustomization', 'Component']),
  namespace: z.string().optional(),
  resources: z.array(z.string()),
  components: z.array(z.string()).default([]),
  patches: z.array(z.strictObject({ path: z.string() })).default([]),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })).default([]),
  configMapGenerator: z.array(z.strictObject({ name: z.string(), envs: z.tuple([z.string()]) })).default([]),
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

const configMap = (folder: string, { name, envs: [file] }: Kustomization['configMapGenerator'][number]): Resource => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: valuesOf(join(folder, file)) },
})

const isSame = (one: Resource, other: Resource): boolean =>
  one.kind === other.kind && one.metadata.name === other.metadata.name

/** The resources with a patch. It throws when the patch is of none of them. */
const patched = (resources: readonly Resource[], patch: Resource): Resource[] => {
  if (!resources.some((it) => isSame(it, patch))) throw new Error(`no ${patch.kind} ${patch.metadata.name} to patch`)
  return resources.map((it) => (isSame(it, patch) ? Resource.parse(merge(it, patch)) : it))
}

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
  const patches = own.patches.flatMap(({ path }) => resourcesOf(join(folder, path)))
  return patches
    .reduce<Resource[]>(patched, all)
    .map((resource) => Resource.parse(withImages(inNamespace(resource, own.namespace), own.images)))
}
