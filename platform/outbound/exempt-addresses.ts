import type { Configuration } from '../configuration/configuration.ts'
import type { OwnServerSettings } from './own-servers.ts'

/**
 * Why a call is made. The public-only rule does not apply to addresses that the configuration names for the purpose:
 * `service` (own services and object store), `provider`, `identity`, `image` (object store), `mail`, `chat`,
 * `witness`, `traces` (collector of spans) and `master-key` (the transit engine). It always applies to the
 * addresses of webhooks and of clients' keys. No other address may lead to a server of the platform, in any profile,
 * whatever EGRESS_ALLOW contains.
 */
export type EgressPurpose =
  | 'webhook'
  | 'client-keys'
  | 'image'
  | 'service'
  | 'provider'
  | 'identity'
  | 'mail'
  | 'chat'
  | 'witness'
  | 'traces'
  | 'master-key'

/** For each purpose, the origins that the configuration names for it. */
export function exemptOrigins(
  configuration: OwnServerSettings & Pick<Configuration, 'witnesses'>,
): Readonly<Record<EgressPurpose, ReadonlySet<string>>> {
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
    otelEndpoint,
    witnesses,
    transitUrl,
  } = configuration
  return {
    webhook: new Set(),
    'client-keys': new Set(),
    image: originsOf(s3Endpoint, s3PublicEndpoint),
    provider: originsOf(providerBaseUrl),
    identity: originsOf(keycloakBaseUrl),
    mail: originsOf(sesEndpoint),
    chat: originsOf(slackApiUrl),
    traces: originsOf(otelEndpoint),
    witness: originsOf(...witnesses.map(({ address }) => address)),
    'master-key': originsOf(transitUrl),
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
