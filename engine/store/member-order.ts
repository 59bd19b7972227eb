import { Compile } from 'typebox/schema'
import { isJsonObject, type JsonObject } from './events.ts'
import { isNode, type SchemaNode } from './schema-inspection.ts'

/** Orders the members of JSON data, in place if possible. Keeps every member and every value. */
export type Ordering = (value: unknown) => unknown

const asGiven: Ordering = (value) => value

/**
 * Orders data that the schema accepts as the schema declares its members. Undeclared members follow in the given order.
 * Records keep the given order.
 */
export function orderingOf(schema: unknown): Ordering {
  if (!isNode(schema)) return asGiven
  const { properties, items } = schema
  if (isNode(properties)) return orderingOfObject(properties)
  if (isNode(items)) return orderingOfList(orderingOf(items))
  const union = schema['anyOf'] ?? schema['oneOf']
  return Array.isArray(union) ? orderingOfUnion(union.filter(isNode)) : asGiven
}

function orderingOfObject(properties: SchemaNode): Ordering {
  const names = Object.keys(properties)
  const nested = names
    .map((name) => ({ name, order: orderingOf(properties[name]) }))
    .filter(({ order }) => order !== asGiven)
  return (value) => {
    if (!isJsonObject(value)) return value
    for (const { name, order } of nested) {
      if (Object.hasOwn(value, name)) value[name] = order(value[name])
    }
    if (isInOrder(value, names)) return value
    const declared = names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]])
    return { ...Object.fromEntries(declared), ...value }
  }
}

/** Most data is already in order. This check costs much less than a copy. */
function isInOrder(value: JsonObject, names: readonly string[]): boolean {
  let place = 0
  for (const name in value) {
    place = names.indexOf(name, place) + 1
    if (place === 0) return false
  }
  return true
}

function orderingOfList(order: Ordering): Ordering {
  if (order === asGiven) return asGiven
  return (value) => (Array.isArray(value) ? value.map(order) : value)
}

/** Finds the alternative that matches the data, unless null is the only other one. */
function orderingOfUnion(alternatives: readonly SchemaNode[]): Ordering {
  const choices = alternatives
    .filter(({ type }) => type !== 'null')
    .map((schema) => ({ schema, order: orderingOf(schema) }))
  if (choices.every(({ order }) => order === asGiven)) return asGiven
  const [first, ...others] = choices
  if (first !== undefined && others.length === 0) return first.order
  const checked = choices.map(({ schema, order }) => ({ order, validator: Compile(schema) }))
  return (value) => {
    const choice = checked.find(({ validator }) => validator.Check(value))
    return choice === undefined ? value : choice.order(value)
  }
}
