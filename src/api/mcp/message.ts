/*
 * What the server takes of a message. The schemas of its library report each wrong element of a list, so that a small body
 * with a long list would cost seconds and return megabytes. The parts that have such lists are not used here.
 */

type Part = Readonly<Record<string, unknown>>

const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null && !Array.isArray(value)

const pick = (part: Part, names: readonly string[]): Part =>
  Object.fromEntries(names.flatMap((name) => (name in part ? [[name, part[name]]] : [])))

/** The client, by its name and version. */
const identityOf = (value: unknown): unknown => (isPart(value) ? pick(value, ['name', 'version']) : null)

const PREFIX = 'io.modelcontextprotocol/'

/** What the metadata of a message may be about: its revision and its client, whose capabilities are not used. */
const metaOf = (meta: Part): Part => ({
  ...pick(meta, ['progressToken', `${PREFIX}protocolVersion`]),
  ...(`${PREFIX}clientInfo` in meta && { [`${PREFIX}clientInfo`]: identityOf(meta[`${PREFIX}clientInfo`]) }),
  ...(`${PREFIX}clientCapabilities` in meta && { [`${PREFIX}clientCapabilities`]: {} }),
})

const paramsOf = (params: Part): Part => ({
  ...pick(params, ['name', 'arguments', 'uri', 'cursor', 'protocolVersion']),
  ...('clientInfo' in params && { clientInfo: identityOf(params.clientInfo) }),
  ...('capabilities' in params && { capabilities: {} }),
  ...(isPart(params._meta) && { _meta: metaOf(params._meta) }),
})

/** The message with the parts that are used. Wrong values of these stay, so that the library refuses them. */
export const takenOf = (message: Part): Part => ({
  ...pick(message, ['jsonrpc', 'id', 'method']),
  ...('params' in message && { params: isPart(message.params) ? paramsOf(message.params) : null }),
})
