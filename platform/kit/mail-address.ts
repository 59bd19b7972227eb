import { domainToASCII } from 'node:url'

/** The longest address that SMTP transports (RFC 5321, 4.5.3.1.3, without the angle brackets). */
export const mostAddressCharacters = 254

const atom = "[A-Za-z0-9#$&'*+/=?^_`{|}~-]+"
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'

/**
 * The subset of RFC 5321 to which mail is sent: a dot-atom in ASCII at a host name of two labels or more. It excludes
 * whatever a mail program or a relay could read as a second recipient or as a route: quoted local parts, comments,
 * display names, lists, address literals, `%` and `!`. A last label of digits is the end of an IPv4 address.
 */
export const mailAddressPattern = `^(?![^@]{65})${atom}(?:\\.${atom})*@(?:${label}\\.)+(?![0-9]+$)${label}$`
const mailAddress = new RegExp(mailAddressPattern)

export function isMailAddress(text: string): boolean {
  return text.length <= mostAddressCharacters && mailAddress.test(text)
}

/**
 * The address as it is kept: without blanks around it, and a domain in another script in its `xn--` form. Undefined if
 * no mail can be sent to it. Accounts, recipients and suppressions take the same addresses.
 */
export function readMailAddress(text: string): string | undefined {
  const trimmed = text.trim()
  const at = trimmed.lastIndexOf('@')
  const domain = trimmed.slice(at + 1)
  const kept = isOtherScript(domain) ? `${trimmed.slice(0, at + 1)}${domainToASCII(domain)}` : trimmed
  return isMailAddress(kept) ? kept : undefined
}

/** Other characters of ASCII would end the domain within `domainToASCII`, and a part of it would be lost. */
function isOtherScript(domain: string): boolean {
  return (
    domain.length <= mostAddressCharacters && /^[A-Za-z0-9.\P{ASCII}-]+$/u.test(domain) && /\P{ASCII}/u.test(domain)
  )
}

/** The form in which addresses are compared: without case. Other text is compared in the same way. */
export function comparedAddress(text: string): string {
  return (readMailAddress(text) ?? text.trim()).toLowerCase()
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
  const kept = readMailAddress(address)
  return kept === undefined ? undefined : { name, address: kept }
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

/** Characters that could end a line of SMTP or of a header, or hide in one. */
export function hasControlCharacter(text: string): boolean {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
}
