import { builders } from './builders.ts'
import { type CompiledBuilder, compile } from './compile.ts'

/** Every builder with its encoder, in the order of the table. */
export const compiledBuilders: readonly CompiledBuilder[] = builders.map(compile)

const byFunction = new Map(compiledBuilders.map((builder) => [builder.function as string, builder]))

/** The builder of a function. Throws a TypeError for a function without one. */
export const builderOf = (name: string): CompiledBuilder => {
  const builder = byFunction.get(name)
  if (builder === undefined) throw new TypeError(`no builder encodes ${name}`)
  return builder
}
