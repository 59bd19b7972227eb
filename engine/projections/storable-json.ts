/**
 * Converts values of rows for Postgres. Its text cannot hold U+0000 or lone surrogates, but the JSON of an event can.
 * They become U+FFFD: one caller's odd character must not stop a read model for everybody. The event keeps it.
 */
export function storableText(text: string): string {
  return text.includes('\0') || !text.isWellFormed() ? text.replaceAll('\0', '\uFFFD').toWellFormed() : text
}

/** The same for every text within a value of a jsonb column, including member names. */
export function storableJson(given: unknown): string {
  const json = JSON.stringify(given)
  if (!json.includes('\\u0000') && !/\\ud[89a-f]/.test(json)) return json
  return JSON.stringify(given, (_name, value: unknown) => {
    if (typeof value === 'string') return storableText(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [storableText(name), member]))
  })
}
