/** Something that is not white space. */
export const visiblePattern = '\\S'
/** Any two texts with a bar between them; there may be further ones in both. */
export const schemeAndValuePattern = '[\\s\\S]\\|[\\s\\S]'

const rules: ReadonlyMap<unknown, string> = new Map([
  [visiblePattern, 'must not be white space only'],
  [schemeAndValuePattern, 'must be scheme|value'],
])

/** What a refusal says instead of the expression; undefined for patterns that say it themselves. */
export function ruleOfPattern(pattern: unknown): string | undefined {
  return rules.get(pattern)
}
