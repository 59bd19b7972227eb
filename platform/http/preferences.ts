/**
 * A separator, a quoted text (the last one may lack its end), or a word. No part can match what its neighbour matches,
 * so reading is linear.
 */
const parts = /[,;=]|"(?:[^"\\]|\\.)*"?|[^\s,;="]+/g
const nameForm = /^[!#$%&'*+.^_`|~\w-]+$/

/**
 * The preferences of a Prefer header (RFC 7240): names in lower case, the first value of each. Parameters are ignored.
 */
export function preferencesOf(header: string | readonly string[] | undefined): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>()
  let read: string[] = []
  for (const [part] of `${[header ?? []].flat().join(',')},`.matchAll(parts)) {
    if (part !== ',') {
      read.push(part)
      continue
    }
    const [name, value] = preferenceOf(read) ?? []
    if (name !== undefined && value !== undefined && !preferences.has(name)) preferences.set(name, value)
    read = []
  }
  return preferences
}

/** @param read the parts of one preference; the result is undefined if they form none */
function preferenceOf(read: readonly string[]): readonly [name: string, value: string] | undefined {
  const end = read.indexOf(';')
  const [name = '', mark, value = '', ...others] = end === -1 ? read : read.slice(0, end)
  const isWellFormed =
    nameForm.test(name) && (mark === undefined || mark === '=') && value !== '=' && others.length === 0
  if (!isWellFormed) return undefined
  if (!value.startsWith('"')) return [name.toLowerCase(), value]
  return value.length > 1 && value.endsWith('"') ? [name.toLowerCase(), value.slice(1, -1)] : undefined
}

interface ReplyHeaders {
  header(name: string, value: string): unknown
  getHeader(name: string): unknown
}

/** Adds a preference to Preference-Applied of this answer. */
export function applyPreference(reply: ReplyHeaders, preference: string): void {
  const applied = reply.getHeader('preference-applied')
  reply.header('preference-applied', typeof applied === 'string' ? `${applied}, ${preference}` : preference)
}
