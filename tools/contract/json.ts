/** A part of a document. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json | undefined
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** The part that a local reference names (RFC 6901), or the value itself. */
export function resolved(document: JsonObject, value: Json | undefined): JsonObject {
  let part = objectOf(value)
  for (let hops = 0; typeof part['$ref'] === 'string' && hops < 20; hops += 1) {
    const path = part['$ref'].replace(/^#\//, '').split('/')
    part = objectOf(
      path
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
        .reduce<Json | undefined>((found, name) => objectOf(found)[name], document),
    )
  }
  return part
}
