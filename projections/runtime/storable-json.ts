/**
 * JSON of rows, as Postgres takes it. Text there holds neither U+0000 nor lone surrogates, which JSON of an event may
 * hold: they become U+FFFD, since one caller's odd character must not stop a read model of everybody. The event keeps it.
 */
export function storableJson(rows: readonly object[]): string {
  const json = JSON.stringify(rows)
  if (!json.includes('\\u0000') && !/\\ud[89a-f]/.test(json)) return json
  return JSON.stringify(rows, (_name, value: unknown) => {
    if (typeof value === 'string') return storableText(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [storableText(name), member]))
  })
}

function storableText(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}
