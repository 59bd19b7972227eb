/** The address of a mail server, parsed. */
export interface SmtpAddress {
  readonly host: string
  readonly port: number
  /** `smtps`: TLS from the first byte. Otherwise STARTTLS. */
  readonly isEncryptedAtOnce: boolean
  readonly credentials: { readonly user: string; readonly password: string } | undefined
}

/**
 * Reads `smtp://user:password@host:587` or `smtps://user:password@host:465`; both ports are the default ones. A user
 * needs a password. Characters with a meaning in an address are percent-encoded. Undefined if it is no such address.
 */
export function readSmtpAddress(text: string): SmtpAddress | undefined {
  if (!/^smtps?:\/\/[^\s\\?#]+$/i.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || url.hostname === '' || (url.pathname !== '' && url.pathname !== '/')) return undefined
  const user = decoded(url.username)
  const password = decoded(url.password)
  if (user === undefined || password === undefined || (user === '') !== (password === '')) return undefined
  const isEncryptedAtOnce = url.protocol === 'smtps:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, '').toLowerCase(),
    port: url.port === '' ? (isEncryptedAtOnce ? 465 : 587) : Number(url.port),
    isEncryptedAtOnce,
    credentials: user === '' ? undefined : { user, password },
  }
}

function decoded(text: string): string | undefined {
  try {
    const plain = decodeURIComponent(text)
    return plain.includes('\0') ? undefined : plain
  } catch {
    return undefined
  }
}
