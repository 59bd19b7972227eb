/** The preferences of a Prefer header (RFC 7240): names in lower case, of each only the first value; parameters are left out. */
export function preferencesOf(header: string | readonly string[] | undefined): ReadonlyMap<string, string> {
  const text = [header ?? []].flat().join(',')
  const preferences = new Map<string, string>()
  for (const [one] of text.matchAll(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g)) {
    const [, name, quoted, plain = ''] = /^\s*([!#$%&'*+.^_`|~\w-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?\s*(?:;|$)/.exec(one) ?? []
    if (name === undefined || preferences.has(name.toLowerCase())) continue
    preferences.set(name.toLowerCase(), quoted ?? plain)
  }
  return preferences
}

interface ReplyHeaders {
  header(name: string, value: string): unknown
  getHeader(name: string): unknown
}

/** Adds to what Preference-Applied says of this answer. */
export function applyPreference(reply: ReplyHeaders, preference: string): void {
  const applied = reply.getHeader('preference-applied')
  reply.header('preference-applied', typeof applied === 'string' ? `${applied}, ${preference}` : preference)
}
