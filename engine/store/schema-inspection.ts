import type { TSchema } from 'typebox'

export type SchemaNode = Readonly<Record<string, unknown>>

export function isNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null
}

/** Names of the top-level members marked as PHI. Throws if a mark is deeper: only whole members can be encrypted. */
export function phiMembersOf(type: string, schema: TSchema): readonly string[] {
  const properties = isNode(schema) && 'properties' in schema && isNode(schema.properties) ? schema.properties : {}
  const members = Object.keys(properties).filter((name) => isPhi(properties[name]))
  for (const [name, member] of Object.entries(properties)) {
    if (!members.includes(name)) refuseNestedPhi(type, `/${name}`, member)
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword !== 'properties') refuseNestedPhi(type, `/${keyword}`, value)
  }
  return members
}

/** Closes every object with fixed members, so nothing undeclared (and thus unencrypted) is stored. */
export function closeObjects(schema: TSchema): TSchema {
  return isNode(schema) ? { ...schema, ...closedKeywords(schema) } : schema
}

function closedKeywords(node: SchemaNode): SchemaNode {
  const closed: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === 'properties' && isNode(value)) {
      closed[keyword] = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closedNode(member)]))
      closed['additionalProperties'] = node['additionalProperties'] ?? false
    } else if (keyword === 'items' || keyword === 'anyOf' || keyword === 'oneOf') {
      closed[keyword] = Array.isArray(value) ? value.map(closedNode) : closedNode(value)
    }
  }
  return closed
}

function closedNode(node: unknown): unknown {
  return isNode(node) ? { ...node, ...closedKeywords(node) } : node
}

function isPhi(node: unknown): boolean {
  return isNode(node) && node['phi'] === true
}

function refuseNestedPhi(type: string, pointer: string, node: unknown): void {
  if (!isNode(node)) return
  if (isPhi(node)) {
    throw new Error(
      `${type} marks PHI at ${pointer}: only whole top-level members can be PHI, so mark the member itself`,
    )
  }
  for (const [key, child] of Object.entries(node)) refuseNestedPhi(type, `${pointer}/${key}`, child)
}
