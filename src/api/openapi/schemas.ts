import { z } from 'zod'
import { type ChainId, chainIdSchemas } from '../../protocol/chains.ts'
import { annotate, undescribed } from './annotate.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'
import { notes } from './notes.ts'
import type { Recorded } from './recorded.ts'

/** Restricts the schema of a chain id to these ids. */
const listIds = (schema: JsonSchema, chainIds: readonly ChainId[]): void => {
  delete schema.minimum
  delete schema.maximum
  Object.assign(schema, { enum: [...chainIds] })
}

/** Replaces the ids of other chains in an example. */
const withChains = (example: Recorded, first: ChainId, chainIds: readonly ChainId[]): Recorded =>
  JSON.parse(JSON.stringify(example), (key, value) => {
    if (key !== 'chainId' || chainIds.includes(Number(value))) return value
    // A list of chains in a query is a text, and wallets take an id in hex.
    if (typeof value !== 'string') return first
    return value.startsWith('0x') ? `0x${first.toString(16)}` : String(first)
  })

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
            if (first !== undefined) listIds(jsonSchema, chainIds)
          }
          // Examples are recorded.
          delete jsonSchema.example
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
            if (some.enum !== undefined) jsonSchema.enum = [...some.enum, null]
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
        if (description === undefined) throw undescribed(id)
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
    /** A recorded example with ids of the configured chains. */
    ofChains: (example: Recorded | undefined): Recorded | undefined =>
      first === undefined || example === undefined ? example : withChains(example, first, chainIds),
  }
}

export type Schemas = ReturnType<typeof createSchemas>
