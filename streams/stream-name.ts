/**
 * Stream names: `<category>-<orgId>-<id>` for what an organisation owns, `<category>-<id>` for what none owns.
 * A category holds no hyphen, so that `<category>-` is an exact prefix filter. Tenancy is in the name: another
 * organisation's record is a stream that does not exist.
 */
export function ownedStream(category: string, orgId: string, id: string): string {
  return `${category}-${orgId}-${id}`
}

const uuidLength = 36

/** The parts of a name that `ownedStream` made; throws on any other name. */
export function parseOwnedStream(stream: string): { category: string; orgId: string; id: string } {
  const hyphen = stream.indexOf('-')
  const category = stream.slice(0, hyphen)
  const orgId = stream.slice(hyphen + 1, hyphen + 1 + uuidLength)
  const id = stream.slice(hyphen + 2 + uuidLength)
  if (hyphen < 1 || orgId.length !== uuidLength || id === '') throw new Error(`not an owned stream: ${category}`)
  return { category, orgId, id }
}
