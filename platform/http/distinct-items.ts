import type { Ajv, SchemaValidateFunction } from 'ajv'
import canonicalize from 'canonicalize'
import { Type, type TArrayOptions, type TSchema } from 'typebox'

/** A list without equal items. Its schema limits the number of items; validation checks that first. */
export function DistinctList<Items extends TSchema>(
  items: Items,
  options: TArrayOptions & { readonly maxItems: number },
) {
  return Type.Array(items, { ...options, uniqueItems: true })
}

/** Two items are equal if their canonical JSON (RFC 8785) is equal. The order of members does not count. */
const areDistinct: SchemaValidateFunction = (isRequired: boolean, items: readonly unknown[]): boolean => {
  if (!isRequired || new Set(items.map((item) => canonicalize(item))).size === items.length) return true
  areDistinct.errors = [{ keyword: 'uniqueItems', message: 'must not have the same item twice', params: {} }]
  return false
}

/** Replaces Ajv's keyword, because that one compares each object with each other. */
export function checkDistinctItems(ajv: Ajv): void {
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({ keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', validate: areDistinct })
}
