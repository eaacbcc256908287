import { z } from 'zod'
import { CHAIN_IDS_EXAMPLE, type ChainId, chainIdSchemas } from '../../protocol/chains.ts'
import { annotate } from './annotate.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'
import { notes } from './notes.ts'

/** Restricts the schema of a chain id to these ids. */
const listIds = (schema: JsonSchema, example: ChainId, chainIds: readonly ChainId[]): void => {
  delete schema.minimum
  delete schema.maximum
  Object.assign(schema, { enum: [...chainIds], example })
}

/** Replaces the ids of other chains in the example of a schema. */
const exampleOf = (example: unknown, first: ChainId, chainIds: readonly ChainId[]): unknown => {
  if (example === CHAIN_IDS_EXAMPLE) return chainIds.join()
  const replace = (key: string, value: unknown): unknown =>
    key === 'chainId' && typeof value === 'number' && !chainIds.includes(value) ? first : value
  return JSON.parse(JSON.stringify(example), replace)
}

/** Creates the converter to JSON Schema. It collects schemas with an id. Chain ids are those of `chainIds`, if any. */
export const createSchemas = (chainIds: readonly ChainId[] = []) => {
  const [first] = chainIds

  const components: Record<string, JsonSchema> = {}

  return {
    components,
    /**
     * Converts a schema of data that clients send (`input`) or receive (`output`). Throws a TypeError for two of an id.
     */
    convert(schema: z.ZodType, io: 'input' | 'output', owner = ''): JsonSchema {
      const converted = z.toJSONSchema(schema, {
        io,
        override({ zodSchema, jsonSchema }) {
          if (chainIdSchemas.has(zodSchema)) {
            if (first !== undefined) listIds(jsonSchema, first, chainIds)
          }
          if (first !== undefined && jsonSchema.example !== undefined)
            jsonSchema.example = exampleOf(jsonSchema.example, first, chainIds)
          // OpenAPI tools handle `true` better than an empty schema.
          if (isSchema(jsonSchema.additionalProperties) && Object.keys(jsonSchema.additionalProperties).length === 0) {
            jsonSchema.additionalProperties = true
          }
          // A list of values, or a type that the schema states itself, makes the type of each alternative redundant.
          if (jsonSchema.enum !== undefined || jsonSchema.type !== undefined) delete jsonSchema.anyOf
          const [some, none] = jsonSchema.anyOf ?? []
          if (isSchema(some) && typeof some.type === 'string' && isSchema(none) && none.type === 'null') {
            delete jsonSchema.anyOf
            Object.assign(jsonSchema, { ...some, type: [some.type, 'null'] })
          }
          // Responses may gain fields. Request bodies stay closed.
          if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
        },
      })
      const text = JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/')
      const { $schema: _, $defs = {}, ...root } = JSON.parse(text) as JsonSchema
      annotate(root, owner)
      for (const [id, component] of Object.entries($defs)) {
        const description = component.description ?? notes[id]
        if (description === undefined) throw new TypeError(`no description of ${id}`)
        component.description = description
        annotate(component, id)
        const known = components[id]
        if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component)) {
          throw new TypeError(`two schemas have the id ${id}`)
        }
        components[id] = component
      }
      return root
    },
    /**
     * Makes the smallest example of a schema: required properties, the first alternative, lists of one item. Throws a
     * TypeError for a schema without one.
     */
    example(schema: JsonSchema): unknown {
      if (schema.example !== undefined) return schema.example
      if (schema.const !== undefined) return schema.const
      const component = components[schema.$ref?.replace('#/components/schemas/', '') ?? '']
      if (component !== undefined) return this.example(component)
      const [first] = schema.anyOf ?? []
      if (isSchema(first)) return this.example(first)
      if (schema.enum !== undefined) return schema.enum[0]
      if (schema.type === 'boolean') return true
      if (schema.type === 'array' && isSchema(schema.items)) return [this.example(schema.items)]
      if (schema.properties !== undefined) {
        const required = Object.entries(schema.properties).filter(([name]) => schema.required?.includes(name))
        return Object.fromEntries(required.map(([name, part]) => [name, isSchema(part) ? this.example(part) : part]))
      }
      throw new TypeError(`no example in ${JSON.stringify(schema)}`)
    },
  }
}

export type Schemas = ReturnType<typeof createSchemas>
