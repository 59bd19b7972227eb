import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import type { Environment } from '../platform/configuration/configuration.ts'

export const allRoles = ['api', 'projector', 'processor'] as const
export type Role = (typeof allRoles)[number]

export function isRole(name: string): name is Role {
  return allRoles.some((role) => role === name)
}

/** Variables that every command on real servers needs. */
export const serverNeeds: readonly string[] = ['ESDB_URL', 'DATABASE_URL', 'VAULT_DATABASE_URL', 'MASTER_KEYS']
/** Variables of the object store. */
export const objectStoreNeeds: readonly string[] = ['S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']
// Every API instance issues and accepts tokens of one address. Services call each other there with one client.
const services = ['BASE_URL', 'SERVICE_CLIENT_ID', 'SERVICE_CLIENT_SECRET']

const provider = ['PROVIDER_BASE_URL', 'PROVIDER_LOGIN', 'PROVIDER_PASSWORD']
const keycloak = ['KEYCLOAK_BASE_URL', 'KEYCLOAK_REALM', 'KEYCLOAK_CLIENT_ID', 'KEYCLOAK_CLIENT_SECRET']

/** Required variables of each role, without those that have a default. */
const needs: Readonly<Record<Role, readonly string[]>> = {
  api: [...serverNeeds, ...objectStoreNeeds, ...services],
  projector: serverNeeds,
  processor: [...serverNeeds, ...objectStoreNeeds, ...services, ...provider],
}

/** Required variables of roles on real servers, for the profile and the providers that the environment names. */
export function needsOf(roles: readonly Role[], env: Environment): readonly string[] {
  return [...new Set([...roles.flatMap((role) => needs[role]), ...needsOfPeople(roles, env)])]
}

/** Required variables of `up`. In production no stand-in may invent results, or hide that nobody gets an account or a mail. */
export function needsOfUp(env: Environment): readonly string[] {
  return [...(env['APP_ENV'] === 'production' ? provider : []), ...needsOfPeople(allRoles, env)]
}

/** For the accounts of users, and for mails to them. */
export function needsOfPeople(roles: readonly Role[], env: Environment): readonly string[] {
  const isProduction = env['APP_ENV'] === 'production'
  const hasAccounts = roles.some((role) => role !== 'projector')
  const accounts = isProduction ? ['IDP_MODE=keycloak', ...keycloak] : env['IDP_MODE'] === 'keycloak' ? keycloak : []
  const mails = env['MAIL_TRANSPORT'] === 'ses' ? ['SES_REGION', 'SMTP_FROM'] : ['SMTP_URL', 'SMTP_FROM']
  return [...(hasAccounts ? accounts : []), ...(isProduction && roles.includes('processor') ? mails : [])]
}

/**
 * Reports all missing variables at once, so an operator needs one start, not seven. An empty variable counts as
 * missing. A name may have the one value that is allowed, `NAME=value`.
 * @param otherwise the reason why nothing else takes their place
 * @throws ConfigurationError
 */
export function requireVariables(env: Environment, names: readonly string[], who: string, otherwise?: string): void {
  const missing = names.filter((needed) => {
    const [name = '', value] = needed.split('=')
    const given = env[name] ?? ''
    return value === undefined ? given === '' : given !== value
  })
  if (missing.length > 0)
    throw new ConfigurationError(
      `${who} needs ${missing.join(', ')}: set ${missing.length === 1 ? 'it' : 'them'} in the environment${otherwise === undefined ? '' : `; ${otherwise}`}`,
    )
}
