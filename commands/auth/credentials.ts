import { tokenEndpointError } from '../../platform/http/token-endpoint-errors.ts'

export interface ClientCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

interface Form {
  readonly client_id?: string | undefined
  readonly client_secret?: string | undefined
}

/**
 * Reads the client credentials of a token request: from HTTP Basic or from the form, not both (RFC 6749, 2.3.1).
 * @throws TokenEndpointError
 */
export function readCredentials(authorization: string | undefined, form: Form): ClientCredentials {
  if (authorization === undefined) {
    if (form.client_id === undefined || form.client_secret === undefined) throw tokenEndpointError('invalid_client')
    return { clientId: form.client_id, clientSecret: form.client_secret }
  }
  if (form.client_secret !== undefined) {
    throw tokenEndpointError('invalid_request', 'Credentials are in both the header and the form.')
  }
  const basic = readBasic(authorization)
  if (basic === undefined || (form.client_id !== undefined && form.client_id !== basic.clientId)) {
    throw tokenEndpointError('invalid_client')
  }
  return basic
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
