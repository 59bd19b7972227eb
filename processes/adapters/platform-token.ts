import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import { createClientToken, type ClientToken } from './client-token.ts'

/** A platform token for calls between services (specification 5.7). */
export type PlatformToken = ClientToken

type TokenConfiguration = Pick<Configuration, 'authBaseUrl' | 'serviceClientId' | 'serviceClientSecret'>

export function createPlatformToken(
  egress: Egress,
  { authBaseUrl, serviceClientId = '', serviceClientSecret = '' }: TokenConfiguration,
  now: () => Date,
): PlatformToken {
  const request = {
    endpoint: `${authBaseUrl}/v1/auth/oauth/token`,
    purpose: 'service',
    clientId: serviceClientId,
    clientSecret: serviceClientSecret,
  } as const
  return createClientToken(egress, request, now)
}
