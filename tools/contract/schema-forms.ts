import { isDeepStrictEqual } from 'node:util'
import { listOf, objectOf, resolved, type Json, type JsonObject } from './json.ts'
import { annotations, merged, typesOf } from './schema-merging.ts'

/** One of the shapes that a value may have. */
export interface Form {
  readonly name: string
  readonly schema: JsonObject
}

/** The shapes of a value, apart from null. A schema without variants has one. */
export function formsOf(
  document: JsonObject,
  schema: Json,
): { readonly isNullable: boolean; readonly forms: readonly Form[] } {
  const all = shapesOf(document, schema)
  const isNull = (form: Form) => isDeepStrictEqual(typesOf(form.schema), ['null'])
  return { isNullable: all.some(isNull), forms: all.filter((form) => !isNull(form)) }
}

/** Null is a shape of its own. Members beside variants, and each part of `allOf`, belong to every shape. */
function shapesOf(document: JsonObject, schema: Json): readonly Form[] {
  const { anyOf, oneOf, allOf, ...own } = resolved(document, schema)
  const variants = [listOf(anyOf), listOf(oneOf)].filter((group) => group.length > 0)
  const parts = listOf(allOf).map((part) => [part])
  const groups = [...variants, ...parts].map((group) => group.flatMap((one) => namedShapesOf(document, one)))
  const hasOwn = Object.keys(own).some((key) => !annotations.includes(key) && key !== 'discriminator')
  if (groups.length === 0) return withoutNull(own)
  const ownShapes = hasOwn ? withoutNull(own).map((shape) => ({ ...shape, name: '' })) : []
  return [...(hasOwn ? [ownShapes] : []), ...groups].reduce((shapes, group) =>
    shapes.flatMap((shape) => group.flatMap((other) => together(shape, other))),
  )
}

function namedShapesOf(document: JsonObject, variant: Json): readonly Form[] {
  const shapes = shapesOf(document, variant)
  const reference = objectOf(variant)['$ref']
  if (typeof reference !== 'string') return shapes
  return shapes.map((shape) => ({ ...shape, name: reference.slice(reference.lastIndexOf('/') + 1) }))
}

function withoutNull(schema: JsonObject): readonly Form[] {
  const types = typesOf(schema)
  const others = types.filter((type) => type !== 'null')
  const shape = { name: nameOf(schema), schema: types.length === 0 ? schema : { ...schema, type: others } }
  const none = { name: 'null', schema: { type: 'null' } }
  return [...(types.length > 0 && others.length === 0 ? [] : [shape]), ...(types.includes('null') ? [none] : [])]
}

/** The shape that both allow; none if they exclude each other. */
function together(one: Form, other: Form): readonly Form[] {
  const schema = merged(one.schema, other.schema)
  return schema === undefined ? [] : [{ name: [one.name, other.name].filter(Boolean).join(' and '), schema }]
}

/** By its title, else by its fixed members, else by its type. */
function nameOf(schema: JsonObject): string {
  if (typeof schema['title'] === 'string') return schema['title']
  const fixed = Object.entries(objectOf(schema['properties'])).flatMap(([name, member]) => {
    const { const: value } = objectOf(member)
    return value === undefined ? [] : [`${name} ${JSON.stringify(value)}`]
  })
  return (
    fixed.join(', ') ||
    typesOf(schema)
      .filter((type) => type !== 'null')
      .join(' or ') ||
    'any value'
  )
}
