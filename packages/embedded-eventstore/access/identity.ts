/** The caller of a call. */
export type Identity =
  | { kind: 'user'; login: string; groups: readonly string[] }
  /** The call names no account. */
  | { kind: 'anonymous' }

/** The identity of every caller on a node without accounts. An unsecured server uses the same name. */
export const EVERYONE = 'system'

export const ANONYMOUS: Identity = { kind: 'anonymous' }

export const ADMINS = '$admins'
const OPERATORS = '$ops'
const ADMIN = 'admin'
const OPERATOR = 'ops'

/** Whether an access list entry with this role includes the caller. */
export function hasRole(identity: Identity, role: string): boolean {
  return identity.kind === 'user' && (identity.login === role || identity.groups.includes(role))
}

/** Has every right. */
export function isAdmin(identity: Identity): boolean {
  return identity.kind === 'user' && (identity.login === ADMIN || identity.groups.includes(ADMINS))
}

/** May manage groups of persistent subscriptions and see the statistics. */
export function isOperator(identity: Identity): boolean {
  return (
    isAdmin(identity) ||
    (identity.kind === 'user' && (identity.login === OPERATOR || identity.groups.includes(OPERATORS)))
  )
}
