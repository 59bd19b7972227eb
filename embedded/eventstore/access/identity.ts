/** Who makes a call. */
export type Identity =
  | { kind: 'user'; login: string; groups: readonly string[] }
  /** Somebody who named no account. */
  | { kind: 'anonymous' }

/** Whom a node without accounts takes everyone for, by the name that an unsecured server gives. */
export const EVERYONE = 'system'

export const ANONYMOUS: Identity = { kind: 'anonymous' }

export const ADMINS = '$admins'
const OPERATORS = '$ops'
const ADMIN = 'admin'
const OPERATOR = 'ops'

/** Whether an access list that names this role means the caller. */
export function hasRole(identity: Identity, role: string): boolean {
  return identity.kind === 'user' && (identity.login === role || identity.groups.includes(role))
}

/** May do everything that is allowed to anybody. */
export function isAdmin(identity: Identity): boolean {
  return identity.kind === 'user' && (identity.login === ADMIN || identity.groups.includes(ADMINS))
}

/** May manage groups of persistent subscriptions. */
export function isOperator(identity: Identity): boolean {
  return (
    isAdmin(identity) ||
    (identity.kind === 'user' && (identity.login === OPERATOR || identity.groups.includes(OPERATORS)))
  )
}
