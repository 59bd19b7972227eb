import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import type { Environment } from '../platform/configuration/configuration.ts'

export const allRoles = ['api', 'projector', 'processor'] as const
export type Role = (typeof allRoles)[number]

export function isRole(name: string): name is Role {
  return allRoles.some((role) => role === name)
}

/** Variables that every command on real servers needs. */
export const serverNeeds: readonly string[] = ['ESDB_URL', 'DATABASE_URL', 'VAULT_DATABASE_URL', 'MASTER_KEYS']
const objectStore = ['S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']
// Every API instance issues and accepts tokens of one address. Services call each other there with one client.
const services = ['BASE_URL', 'SERVICE_CLIENT_ID', 'SERVICE_CLIENT_SECRET']

/** Required variables of each role, without those that have a default. */
const needs: Readonly<Record<Role, readonly string[]>> = {
  api: [...serverNeeds, ...objectStore, ...services],
  projector: serverNeeds,
  processor: [...serverNeeds, ...objectStore, ...services, 'PROVIDER_BASE_URL', 'PROVIDER_LOGIN', 'PROVIDER_PASSWORD'],
}

export function needsOf(roles: readonly Role[]): readonly string[] {
  return [...new Set(roles.flatMap((role) => needs[role]))]
}

/**
 * Reports all missing variables at once, so an operator needs one start, not seven. An empty variable counts as
 * missing.
 * @throws ConfigurationError
 */
export function requireVariables(env: Environment, names: readonly string[], who: string): void {
  const missing = names.filter((name) => env[name] === undefined || env[name] === '')
  if (missing.length > 0)
    throw new ConfigurationError(
      `${who} needs ${missing.join(', ')}: set ${missing.length === 1 ? 'it' : 'them'} in the environment`,
    )
}
