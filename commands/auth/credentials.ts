import { decodeJwt } from 'jose'
import { Type, type Static } from 'typebox'
import { tokenEndpointError } from '../../platform/http/token-endpoint-errors.ts'

/** Members of every form that a client authenticates with. */
export const credentialMembers = {
  client_id: Type.Optional(Type.String({ maxLength: 255 })),
  client_secret: Type.Optional(Type.String({ maxLength: 1024 })),
  client_assertion_type: Type.Optional(Type.String({ maxLength: 255 })),
  client_assertion: Type.Optional(Type.String({ maxLength: 8192 })),
}

const CredentialForm = Type.Object(credentialMembers)
type CredentialForm = Static<typeof CredentialForm>

export type ClientCredentials =
  | { readonly clientId: string; readonly clientSecret: string }
  | { readonly clientId: string; readonly assertion: string }

/** RFC 7523, 2.2. */
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/**
 * What a client shows: HTTP Basic, a secret in the form, or a signed assertion; only one of them (RFC 6749, 2.3).
 * @throws TokenEndpointError
 */
export function readCredentials(authorization: string | undefined, form: CredentialForm): ClientCredentials {
  const isAssertion = form.client_assertion !== undefined || form.client_assertion_type !== undefined
  const methods = [authorization !== undefined, form.client_secret !== undefined, isAssertion]
  if (methods.filter((isUsed) => isUsed).length > 1)
    throw tokenEndpointError('invalid_request', 'The client authenticates in more than one way.')
  const credentials = isAssertion
    ? readAssertion(form)
    : authorization === undefined
      ? secretIn(form)
      : readBasic(authorization)
  if (credentials === undefined || (form.client_id !== undefined && form.client_id !== credentials.clientId))
    throw tokenEndpointError('invalid_client')
  return credentials
}

function secretIn({ client_id: clientId, client_secret: clientSecret }: CredentialForm): ClientCredentials | undefined {
  return clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret }
}

/** The subject names the client whose keys verify the assertion. Nothing is verified here. */
function readAssertion(form: CredentialForm): ClientCredentials | undefined {
  const { client_assertion: assertion, client_assertion_type: type } = form
  if (assertion === undefined || type === undefined) throw tokenEndpointError('invalid_request')
  if (type !== assertionType) return undefined
  try {
    const { sub: clientId } = decodeJwt(assertion)
    return typeof clientId === 'string' ? { clientId, assertion } : undefined
  } catch {
    return undefined
  }
}

/** Both parts are form-encoded, then joined, then encoded as base64. */
function readBasic(authorization: string): ClientCredentials | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) return undefined
  try {
    return { clientId: formDecode(text.slice(0, colon)), clientSecret: formDecode(text.slice(colon + 1)) }
  } catch {
    return undefined
  }
}

function formDecode(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
