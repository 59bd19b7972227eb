import { Type } from 'typebox'
import { parseVkey, signatureTypes } from '../transparency-log/signed-note.ts'

/** A witness of the sealed log: where it signs, and the key that its signatures must have. */
export interface WitnessAddress {
  /** Prefix of its paths, without a slash at the end. */
  readonly address: string
  readonly vkey: string
}

const mostWitnesses = 16

/** `<address> <vkey>` pairs, separated by commas. */
export function witnesses() {
  return {
    schema: Type.Array(Type.Object({ address: Type.String(), vkey: Type.String() }), { maxItems: mostWitnesses }),
    mustBe: `at most ${mostWitnesses} pairs "<address> <vkey>", separated by commas, each with an http(s) address and the key of a witness`,
    unit: '',
    read: (given: string): readonly WitnessAddress[] | undefined => {
      const pairs = given
        .split(',')
        .map((pair) => pair.trim())
        .filter((pair) => pair !== '')
        .map((pair) => pair.split(/ +/))
      const read = pairs.map(([address = '', vkey = '', ...rest]) =>
        rest.length === 0 && isAddress(address) && isWitnessKey(vkey)
          ? { address: address.replace(/\/$/, ''), vkey }
          : undefined,
      )
      const known = read.filter((witness) => witness !== undefined)
      const isEachOnce = new Set(known.map(({ vkey }) => vkey)).size === pairs.length
      return known.length === pairs.length && isEachOnce ? known : undefined
    },
  }
}

function isAddress(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '' && url.hash === ''
}

/** A plain Ed25519 key signs logs, not checkpoints of others. */
function isWitnessKey(vkey: string): boolean {
  try {
    return parseVkey(vkey).type !== signatureTypes.ed25519
  } catch {
    return false
  }
}
