import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv'
import canonicalize from 'canonicalize'
import { Type, type TArrayOptions, type TSchema } from 'typebox'

/** Stands in our schemas where OpenAPI has `uniqueItems`. Ajv compares every pair of objects for that keyword. */
const keyword = 'distinctItems'

/** A list without two equal items. Its schema limits the number of items, which validation checks first. */
export function DistinctList<Items extends TSchema>(items: Items, options: TArrayOptions & { readonly maxItems: number }) {
  return Type.Array(items, { ...options, [keyword]: true })
}

/** Two items are equal when their canonical JSON (RFC 8785) is: the order of members does not count. */
const areDistinct: SchemaValidateFunction = (isRequired: boolean, items: readonly unknown[]): boolean => {
  if (!isRequired || new Set(items.map((item) => canonicalize(item))).size === items.length) return true
  areDistinct.errors = [{ keyword: 'uniqueItems', message: 'must not have the same item twice', params: {} }]
  return false
}

export const distinctKeyword: FuncKeywordDefinition = { keyword, type: 'array', schemaType: 'boolean', validate: areDistinct }

/** The same document with `uniqueItems`, which clients know. */
export function withUniqueItems(document: unknown): unknown {
  if (Array.isArray(document)) return document.map(withUniqueItems)
  if (typeof document !== 'object' || document === null) return document
  return Object.fromEntries(Object.entries(document).map(([name, value]) => [name === keyword ? 'uniqueItems' : name, withUniqueItems(value)]))
}
