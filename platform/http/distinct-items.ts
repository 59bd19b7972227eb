import type { Ajv, SchemaValidateFunction } from 'ajv'
import canonicalize from 'canonicalize'
import { Type, type TArrayOptions, type TSchema } from 'typebox'

/** A list without two equal items. Its schema limits the number of items, which validation checks first. */
export function DistinctList<Items extends TSchema>(
  items: Items,
  options: TArrayOptions & { readonly maxItems: number },
) {
  return Type.Array(items, { ...options, uniqueItems: true })
}

/** Two items are equal when their canonical JSON (RFC 8785) is: the order of members does not count. */
const areDistinct: SchemaValidateFunction = (isRequired: boolean, items: readonly unknown[]): boolean => {
  if (!isRequired || new Set(items.map((item) => canonicalize(item))).size === items.length) return true
  areDistinct.errors = [{ keyword: 'uniqueItems', message: 'must not have the same item twice', params: {} }]
  return false
}

/** Replaces the keyword of Ajv, which compares each object with each other. */
export function checkDistinctItems(ajv: Ajv): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: areDistinct })
}
