import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { assertionAlgorithms } from './client-assertion.ts'
import { tokenEndpointOf } from './client-authentication.ts'

const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
const algorithms = Object.values(assertionAlgorithms)

const Address = Type.String({ format: 'uri' })
const Methods = Type.Array(Type.Enum([...methods]))
const Algorithms = Type.Array(Type.Enum([...algorithms]))

const AuthorizationServerMetadata = Type.Object(
  {
    issuer: Address,
    token_endpoint: Address,
    introspection_endpoint: Address,
    revocation_endpoint: Address,
    jwks_uri: Address,
    service_documentation: Address,
    grant_types_supported: Type.Array(Type.Literal('client_credentials')),
    response_types_supported: Type.Array(Type.String(), { description: 'Empty: nobody logs in here' }),
    token_endpoint_auth_methods_supported: Methods,
    token_endpoint_auth_signing_alg_values_supported: Algorithms,
    introspection_endpoint_auth_methods_supported: Methods,
    introspection_endpoint_auth_signing_alg_values_supported: Algorithms,
    revocation_endpoint_auth_methods_supported: Methods,
    revocation_endpoint_auth_signing_alg_values_supported: Algorithms,
  },
  { $id: 'AuthorizationServerMetadata' },
)

interface Addresses {
  readonly configuration: { readonly baseUrl: string }
}

/** Below the mounts, where clients look that only know the issuer. */
export function metadataRoute(app: ServiceApp, addresses: Addresses): void {
  serve(app, '/.well-known/oauth-authorization-server', 'getAuthorizationServerMetadata', addresses)
}

/** The address of RFC 8414, section 3: the path of the issuer stands behind the well-known part. */
export function wellKnownMetadataRoute(app: ServiceApp, addresses: Addresses): void {
  serve(app, '/.well-known/oauth-authorization-server/v1/auth', 'getWellKnownMetadata', addresses)
}

function serve(app: ServiceApp, path: string, operationId: string, { configuration }: Addresses): void {
  const metadata = metadataOf(configuration.baseUrl)
  app.get(
    path,
    {
      schema: {
        operationId,
        summary: 'What the authorization server supports (RFC 8414)',
        response: answers({ 200: AuthorizationServerMetadata }),
      },
      config: { access: 'public' },
    },
    async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      return reply.send(metadata)
    },
  )
}

function metadataOf(baseUrl: string) {
  const issuer = `${baseUrl}/v1/auth`
  return {
    issuer,
    token_endpoint: tokenEndpointOf({ baseUrl }),
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    service_documentation: `${baseUrl}/docs`,
    grant_types_supported: ['client_credentials' as const],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: [...methods],
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_methods_supported: [...methods],
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: [...methods],
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
  }
}
