/** The format of `isVisible`: as a pattern, its Unicode properties are more than the clients of some languages can read. */
export const visibleFormat = 'visible-text'
/** Any two texts with a bar between them; there may be further ones in both. */
export const schemeAndValuePattern = '[\\s\\S]\\|[\\s\\S]'

const rules: ReadonlyMap<unknown, string> = new Map([
  [visibleFormat, 'must have a visible character'],
  [schemeAndValuePattern, 'must be scheme|value'],
])

/** What a refusal says instead of the pattern or format; undefined for those that say it themselves. */
export function ruleInWords(patternOrFormat: unknown): string | undefined {
  return rules.get(patternOrFormat)
}
