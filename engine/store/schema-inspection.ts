import type { TSchema } from 'typebox'
import { isJsonObject, type JsonObject } from './events.ts'

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

/** The data without the members that their schema marks as internal, at any depth. */
export function publicContent(schema: unknown, data: JsonObject): JsonObject {
  const shown = withoutInternal(schema, data)
  return isJsonObject(shown) ? shown : {}
}

function withoutInternal(schema: unknown, value: unknown): unknown {
  if (!isNode(schema)) return value
  const { properties, items, anyOf, oneOf } = schema
  const variants = anyOf ?? oneOf
  if (Array.isArray(variants)) return variants.reduce((left: unknown, variant) => withoutInternal(variant, left), value)
  if (Array.isArray(value)) return value.map((item) => withoutInternal(items, item))
  if (!isNode(properties) || !isJsonObject(value)) return value
  const shown = Object.entries(value).filter(
    ([name]) => !(isNode(properties[name]) && properties[name]['internal'] === true),
  )
  return Object.fromEntries(shown.map(([name, member]) => [name, withoutInternal(properties[name], member)]))
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
