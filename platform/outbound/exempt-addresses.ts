import type { EgressPurpose } from './egress.ts'
import type { OwnServerSettings } from './own-servers.ts'

/** For each purpose, the origins that the configuration names for it. */
export function exemptOrigins(configuration: OwnServerSettings): Readonly<Record<EgressPurpose, ReadonlySet<string>>> {
  const {
    s3Endpoint,
    s3PublicEndpoint,
    providerBaseUrl,
    keycloakBaseUrl,
    baseUrl,
    authBaseUrl,
    clinicalBaseUrl,
    consentBaseUrl,
    aiReviewBaseUrl,
    usersBaseUrl,
    sesEndpoint,
    slackApiUrl,
  } = configuration
  return {
    webhook: new Set(),
    'client-keys': new Set(),
    image: originsOf(s3Endpoint, s3PublicEndpoint),
    provider: originsOf(providerBaseUrl),
    identity: originsOf(keycloakBaseUrl),
    mail: originsOf(sesEndpoint),
    chat: originsOf(slackApiUrl),
    service: originsOf(
      baseUrl,
      authBaseUrl,
      clinicalBaseUrl,
      consentBaseUrl,
      aiReviewBaseUrl,
      usersBaseUrl,
      s3Endpoint,
    ),
  }
}

interface OwnStore {
  readonly publicOrigin: string
  readonly endpoint: URL
}

/**
 * S3_PUBLIC_ENDPOINT is for clients. A processor may be unable to reach it (in a container it is the container itself),
 * so it uses S3_ENDPOINT.
 */
export function ownStoreOf({ s3Endpoint, s3PublicEndpoint }: OwnServerSettings): OwnStore | undefined {
  if (s3Endpoint === undefined || s3PublicEndpoint === undefined) return undefined
  return { publicOrigin: new URL(s3PublicEndpoint).origin, endpoint: new URL(s3Endpoint) }
}

function originsOf(...addresses: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(addresses.flatMap((address) => (address === undefined ? [] : [new URL(address).origin])))
}
