import { atFirstUse } from '../kit/at-first-use.ts'
import { parseEgressAllow } from '../outbound/addresses.ts'

/** Of 32 random bytes about 30 differ. */
const fewestDifferentBytes = 17

/** Whether a key of `MASTER_KEYS` is certainly not random: one byte again and again, a pattern, a count or a text. */
export function hasGuessableKey(masterKeys: string): boolean {
  return masterKeys.split(',').some((entry) => {
    // Wrapped by a transit engine, which made it.
    if (entry.includes(':vault:')) return false
    const bytes = Buffer.from(entry.slice(entry.indexOf(':') + 1), 'base64')
    const steps = new Set(bytes.subarray(1).map((byte, index) => byte - (bytes[index] ?? 0)))
    const isText = bytes.every((byte) => byte >= 0x20 && byte < 0x7f)
    return isText || new Set(bytes).size < fewestDifferentBytes || steps.size === 1
  })
}

/** Of 32 random hexadecimal digits about 14 differ. */
const fewestDifferentCharacters = 8

/** Whether a secret is certainly not random: one character or a few of them again and again. */
export function isGuessableSecret(secret: string): boolean {
  return new Set(secret).size < fewestDifferentCharacters
}

/** `10.0.0.0/8` is 1/256 of all addresses, and the public ones of IPv6 are 1/8. */
const largestFraction = 1 / 16
/** Even steps through all addresses. */
const samples = atFirstUse(() => {
  const steps = Array.from({ length: 4_096 }, (_, step) => step * 16)
  const ipv4 = steps.map((step) => `${step >> 8}.${step & 255}.85.170`)
  // A range of IPv6 addresses can contain IPv4 addresses, too: as they are (RFC 4291, 2.5.5.2), or behind a NAT64 (RFC 6052, 2.1).
  return [
    ipv4,
    ...['::ffff:', '64:ff9b::'].map((prefix) => ipv4.map((address) => `${prefix}${address}`)),
    steps.map((step) => `${step.toString(16)}:5::5`),
  ]
})

/** Whether address ranges, alone or together, contain so many addresses that the list excludes nobody. */
export function containsNearlyEverything(entries: readonly string[]): boolean {
  // Names and single addresses are few. Looking at the samples takes a fiftieth of a start.
  if (!entries.some((entry) => entry.includes('/'))) return false
  const ranges = parseEgressAllow(entries)
  const fractionOf = (addresses: readonly string[]) =>
    addresses.filter((address) => ranges.hasAddress(address)).length / addresses.length
  return samples().some((addresses) => fractionOf(addresses) > largestFraction)
}
