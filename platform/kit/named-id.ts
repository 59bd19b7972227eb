import { v5 } from 'uuid'

/** As `v5`, in a name space that may be any UUID. In text the library refuses versions that RFC 9562 does not have. */
export function namedId(name: string, space: string): string {
  return v5(name, Buffer.from(space.replaceAll('-', ''), 'hex'))
}
