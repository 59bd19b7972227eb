import { problems, problemType, type ProblemCode } from './problems.ts'

/** RFC 6749, 5.2. */
export type TokenErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_scope'

const descriptions: Readonly<Record<TokenErrorCode, string>> = {
  invalid_request: 'A parameter is missing, repeated or malformed.',
  invalid_client: 'The client is unknown or its credentials are wrong.',
  invalid_grant: 'The grant is not valid.',
  unauthorized_client: 'The client may not use this grant.',
  unsupported_grant_type: 'Only client_credentials is supported.',
  invalid_scope: 'A requested scope is unknown, repeated or not granted to the client.',
}

/** Thrown by the token route. The answer is `application/json` with the members of RFC 6749 and those of a problem. */
export class TokenEndpointError extends Error {
  override readonly name = 'TokenEndpointError'
  readonly isSafeToLog = true
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>

  constructor(
    error: TokenErrorCode,
    description: string,
    problemCode: ProblemCode = error === 'invalid_client' ? 'client-invalid' : 'token-request-invalid',
  ) {
    super(description)
    const { status, title } = problems[problemCode]
    this.status = status
    this.headers = {
      pragma: 'no-cache',
      ...(error === 'invalid_client' ? { 'www-authenticate': 'Basic realm="clinical-assessment-platform"' } : {}),
    }
    this.body = {
      error,
      error_description: description,
      type: problemType(problemCode),
      title,
      status,
      detail: description,
    }
  }
}

/** `throw tokenEndpointError('invalid_scope')`. The description contains no value of the request. */
export function tokenEndpointError(
  error: TokenErrorCode,
  description: string = descriptions[error],
): TokenEndpointError {
  return new TokenEndpointError(error, description)
}

/** For a body of another media type, or with a content encoding. RFC 6749 has no code for it. */
export function tokenMediaTypeError(): TokenEndpointError {
  return new TokenEndpointError(
    'invalid_request',
    'Send the parameters as application/x-www-form-urlencoded, without a content encoding.',
    'unsupported-media-type',
  )
}
