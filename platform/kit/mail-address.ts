/** The longest address that SMTP transports (RFC 5321, 4.5.3.1.3, without the angle brackets). */
const mostCharacters = 254

const localPart = /^[A-Za-z0-9#$&'*+/=?^_`{|}~-]+$/
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/

/**
 * The subset of RFC 5321 to which mail is sent: a dot-atom in ASCII at a host name of two labels or more. It excludes
 * whatever a mail program or a relay could read as a second recipient or as a route: quoted local parts, comments,
 * display names, lists, address literals, `%` and `!`. Domains in other scripts take their `xn--` form.
 */
export function isMailAddress(text: string): boolean {
  if (text.length > mostCharacters) return false
  const parts = text.split('@')
  const [local, domain] = parts
  return parts.length === 2 && local !== undefined && domain !== undefined && isLocalPart(local) && isDomain(domain)
}

function isLocalPart(text: string): boolean {
  return text.length <= 64 && text.split('.').every((atom) => localPart.test(atom))
}

function isDomain(text: string): boolean {
  const labels = text.split('.')
  const isName = labels.length >= 2 && labels.every((part) => part.length <= 63 && label.test(part))
  // A last label of digits is the end of an IPv4 address.
  return isName && !/^[0-9]+$/.test(labels.at(-1) ?? '')
}

/** The sender of all mails. */
export interface MailSenderAddress {
  /** The display name; empty without one. */
  readonly name: string
  readonly address: string
}

/** Reads `address` or `Name <address>`. The name has no character with a meaning in a header. Undefined otherwise. */
export function readSenderAddress(text: string): MailSenderAddress | undefined {
  const named = /^([A-Za-z0-9 .'_-]{1,64}) <([^<>]*)>$/.exec(text)
  const [name, address] = named === null ? ['', text] : [(named[1] ?? '').trim(), named[2] ?? '']
  return isMailAddress(address) ? { name, address } : undefined
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

/** Characters that could end a line of SMTP or of a header, or hide in one. */
export function hasControlCharacter(text: string): boolean {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
}
