import { z } from 'zod'

export type JsonSchema = z.core.JSONSchema.BaseSchema

/** False for the booleans that JSON Schema also allows where a schema is. */
export const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null

/** Turns zod schemas into JSON Schema, and collects those that have an id as components. */
export const createSchemas = () => {
  const components: Record<string, JsonSchema> = {}

  return {
    components,
    /** What clients send (`input`) or get (`output`). Throws a TypeError for two different schemas of one id. */
    convert(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
      const converted = z.toJSONSchema(schema, {
        io,
        override({ jsonSchema }) {
          // Responses may gain fields; bodies are closed, and zod says so.
          if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
          // Readers of OpenAPI know `true` better than the schema that allows everything.
          if (isSchema(jsonSchema.additionalProperties) && Object.keys(jsonSchema.additionalProperties).length === 0) {
            jsonSchema.additionalProperties = true
          }
          // A list of values says all there is to say of the type that each has.
          if (jsonSchema.enum !== undefined) delete jsonSchema.anyOf
          const [some, none] = jsonSchema.anyOf ?? []
          if (isSchema(some) && typeof some.type === 'string' && isSchema(none) && none.type === 'null') {
            delete jsonSchema.anyOf
            Object.assign(jsonSchema, { ...some, type: [some.type, 'null'] })
          }
        },
      })
      const {
        $schema: _,
        $defs = {},
        ...root
      }: JsonSchema = JSON.parse(JSON.stringify(converted).replaceAll('"#/$defs/', '"#/components/schemas/'))
      for (const [id, component] of Object.entries($defs)) {
        const known = components[id]
        if (known !== undefined && JSON.stringify(known) !== JSON.stringify(component)) {
          throw new TypeError(`two schemas have the id ${id}`)
        }
        components[id] = component
      }
      return root
    },
    /**
     * The smallest value that a schema's examples make: what is required, the first of alternatives, lists of one. Throws a
     * TypeError where a schema neither has an example nor parts that have one.
     */
    example(schema: JsonSchema): unknown {
      if (schema.example !== undefined) return schema.example
      if (schema.const !== undefined) return schema.const
      if (schema.$ref !== undefined) {
        const component = components[schema.$ref.replace('#/components/schemas/', '')]
        if (component !== undefined) return this.example(component)
      }
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
