/**
 * The address of an event store in the one form that the official client reads, which is of the time before KurrentDB:
 * `kurrentdb://` and `kdb://` mean the same as `esdb://`.
 */
export function officialAddress(url: string): string {
  return url.trim().replace(/^(?:kurrentdb|kdb)(?=(?:\+discover)?:)/, 'esdb')
}
