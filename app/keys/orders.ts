import { parseArgs } from 'node:util'
import { signingPurposes, turningKinds, type SigningPurpose, type TurningKind } from '../../platform/kit/key-vault.ts'

/** Purposes whose rotation is recorded in the log. */
export const loggedPurposes = ['event-signature', 'seal'] as const
export type RotatedPurpose = SigningPurpose | TurningKind | (typeof loggedPurposes)[number]

export type KeysOrder =
  | { readonly action: 'list'; readonly isJson: boolean }
  | { readonly action: 'rotate'; readonly purpose: RotatedPurpose }
  | { readonly action: 'rewrap' }
  | { readonly action: 'new-master'; readonly id: string }
  | { readonly action: 'end-token'; readonly kid: string }
  | { readonly action: 'end-seal' }

export const keysUsage = `  keys list  [--json]
          the keys of the vault, what each does now, and the master keys that wrap them. No secret is printed
  keys rotate token|receipt|actor-context|provenance|unsubscribe|event-signature|seal
          adds a key. A key pair is published at once and signs six minutes later, when everybody has it. The key of event
          signatures signs at once, and a minute later the older one counts no more. The key of seals signs beside the older
          one, until that is ended
  keys new-master --id ID
          makes a master key and prints it as an entry of MASTER_KEYS. With MASTER_KEY_PROVIDER=transit it is wrapped
  keys rewrap
          wraps everything in the vault with the first master key. May be stopped and repeated
  keys end token --kid KID
          ends every token that a leaked key has signed, in every process. Another key signs at once
  keys end seal
          ends all keys of seals but the newest one`

/** @throws Error with the reason, if there is no such command */
export function readKeys(args: readonly string[]): KeysOrder {
  const [action, ...rest] = args
  if (action === 'list') {
    const { values } = parseArgs({ args: rest, options: { json: { type: 'boolean', default: false } } })
    return { action, isJson: values.json }
  }
  if (action === 'rotate') {
    const { positionals } = parseArgs({ args: rest, options: {}, allowPositionals: true })
    const purposes = [...signingPurposes, ...turningKinds, ...loggedPurposes]
    const purpose = purposes.find((each) => each === positionals[0])
    if (purpose === undefined || positionals.length > 1)
      throw new Error(`keys rotate takes one of ${purposes.join(', ')}`)
    return { action, purpose }
  }
  if (action === 'rewrap') {
    parseArgs({ args: rest, options: {} })
    return { action }
  }
  if (action === 'new-master') {
    const { values } = parseArgs({ args: rest, options: { id: { type: 'string' } } })
    if (values.id === undefined || !/^[A-Za-z0-9_.-]{1,64}$/.test(values.id))
      throw new Error("keys new-master needs --id ID, of 1 to 64 letters, digits, '_', '.' or '-'")
    return { action, id: values.id }
  }
  if (action === 'end') return readEnd(rest)
  throw new Error(`there is no command ${['keys', ...args].join(' ')}`)
}

function readEnd(args: string[]): KeysOrder {
  const { values, positionals } = parseArgs({ args, options: { kid: { type: 'string' } }, allowPositionals: true })
  if (positionals.length !== 1 || (positionals[0] !== 'token' && positionals[0] !== 'seal'))
    throw new Error('keys end takes token or seal')
  if (positionals[0] === 'seal') {
    if (values.kid !== undefined) throw new Error('keys end seal takes no --kid: the newest key stays')
    return { action: 'end-seal' }
  }
  // A JWK thumbprint of SHA-256, RFC 7638.
  if (values.kid === undefined || !/^[\w-]{43}$/.test(values.kid))
    throw new Error('keys end token needs --kid KID, as keys list prints it')
  return { action: 'end-token', kid: values.kid }
}
