import { createHash, timingSafeEqual } from 'node:crypto'
import { Ajv, type ErrorObject } from 'ajv'
import { jsonOf } from '../../platform/kit/json-reading.ts'

/** The body of a request to `/control` is wrong. The message names the member. */
export class InvalidControl extends Error {}

const ajv = new Ajv({ useDefaults: true, allowUnionTypes: true })

/** Returns the reader of a JSON list whose items fit the schema. It throws `InvalidControl`. */
export function controlList<Item>(itemSchema: object): (body: string) => Item[] {
  const isList = ajv.compile<Item[]>({ type: 'array', items: itemSchema })
  return (body) => {
    const value = jsonOf(body)
    if (value === undefined) throw new InvalidControl('the body is not JSON')
    if (!isList(value)) throw invalid(isList.errors)
    return value
  }
}

function invalid(errors: ErrorObject[] | null | undefined): InvalidControl {
  const [error] = errors ?? []
  const place = error?.instancePath === '' ? 'the body' : error?.instancePath
  const extra: unknown = error?.params['additionalProperty']
  const named = typeof extra === 'string' ? `: ${extra}` : ''
  return new InvalidControl(`${place} ${error?.message ?? 'is not valid'}${named}`)
}

/** Digests have equal length, so the time of the comparison reveals neither content nor length. */
export function isSame(given: string | undefined, expected: string): boolean {
  return timingSafeEqual(digestOf(given ?? ''), digestOf(expected))
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
