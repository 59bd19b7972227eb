/** A deeper value is refused: what is checked comes from a file of anybody. */
const mostDepth = 32

/** The RFC 8785 form of a parsed JSON value. Undefined if the value is no JSON, or too deep. */
export function canonicalJson(value: unknown, depth = 0): string | undefined {
  if (depth > mostDepth) return undefined
  if (Array.isArray(value))
    return joined(
      '[',
      value.map((item) => canonicalJson(item, depth + 1)),
      ']',
    )
  if (isObject(value)) {
    // `toSorted` compares UTF-16 code units, as the form demands.
    const members = Object.keys(value)
      .toSorted()
      .map((name) => {
        const member = canonicalJson(value[name], depth + 1)
        return member === undefined ? undefined : `${JSON.stringify(name)}:${member}`
      })
    return joined('{', members, '}')
  }
  if (typeof value === 'number' && !Number.isFinite(value)) return undefined
  return JSON.stringify(value)
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function joined(start: string, parts: readonly (string | undefined)[], end: string): string | undefined {
  return parts.includes(undefined) ? undefined : `${start}${parts.join(',')}${end}`
}
