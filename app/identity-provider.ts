import type { IdentityProvider } from '../contracts/users/identity-provider.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import type { Egress } from '../platform/outbound/egress.ts'
import { createKeycloak } from '../processes/adapters/keycloak.ts'
import { createMockIdentityProvider } from '../processes/adapters/mock-identity-provider.ts'

/**
 * Calls nothing yet: a provider that is away does not hold up the start. Users of a production system log in somewhere,
 * so its accounts must be real.
 * @throws ConfigurationError
 */
export function createIdentityProvider(
  configuration: Configuration,
  egress: Egress,
  now: () => Date,
): IdentityProvider {
  const { profile, idpMode } = configuration
  if (profile === 'production' && idpMode === 'mock')
    throw new ConfigurationError('IDP_MODE must be keycloak when APP_ENV is production: the mock creates no accounts')
  if (idpMode === 'mock') return createMockIdentityProvider()
  const {
    keycloakBaseUrl: baseUrl = '',
    keycloakRealm: realm = '',
    keycloakClientId: clientId = '',
    keycloakClientSecret: clientSecret = '',
  } = configuration
  return createKeycloak(egress, { baseUrl, realm, clientId, clientSecret }, now)
}
