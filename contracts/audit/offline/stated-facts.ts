import { isObject } from './canonical-json.ts'

export interface Difference {
  /** JSON Pointer. */
  readonly path: string
  readonly stated: string
  readonly proven: string
}

const longestText = 100

/** Where a document states something else than the proven one, which is small and trusted. */
export function* differences(stated: unknown, proven: unknown, path = ''): Generator<Difference> {
  if (isObject(stated) && isObject(proven)) {
    for (const name of new Set([...Object.keys(proven), ...Object.keys(stated)]))
      yield* differences(ownOf(stated, name), ownOf(proven, name), `${path}/${name}`)
    return
  }
  if (Array.isArray(stated) && Array.isArray(proven)) {
    for (let at = 0; at < Math.max(stated.length, proven.length); at += 1)
      yield* differences(stated[at], proven[at], `${path}/${at}`)
    return
  }
  if (!Object.is(stated, proven)) yield { path, stated: shown(stated), proven: shown(proven) }
}

function ownOf(value: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function shown(value: unknown): string {
  if (isObject(value) || Array.isArray(value)) return 'another form'
  return (JSON.stringify(value) ?? 'missing').slice(0, longestText)
}
