import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { type ErrorCode, S3Error } from './errors.ts'

export type SignedRequest = {
  method: string
  /** The path as sent, percent-encoded, without the query. */
  path: string
  query: URLSearchParams
  headers: Readonly<Record<string, string | string[] | undefined>>
}

export type Credentials = { accessKeyId: string; secretAccessKey: string }

/** The body's SHA-256 in hex from the signature, or undefined when the signature does not cover the body. */
export type VerifiedPayload = { sha256: string | undefined }

type Claim = {
  credential: string
  date: string
  signedHeaders: readonly string[]
  signature: string
  payloadHash: string
}

const ALGORITHM = 'AWS4-HMAC-SHA256'
const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD'
const CLOCK_SKEW_MS = 15 * 60_000
const LONGEST_EXPIRY_SECONDS = 7 * 86_400
const AUTHORIZATION = /^AWS4-HMAC-SHA256 Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$/
const QUERY_PARAMETERS = [
  'X-Amz-Algorithm',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-SignedHeaders',
  'X-Amz-Signature',
]

/**
 * Verifies AWS Signature Version 4 as S3 does, from the Authorization header or from a presigned URL. Throws an
 * `S3Error` unless the holder of the credential signed exactly this request: 403, or 400 when malformed.
 */
export function verifySignature(request: SignedRequest, credentials: Credentials, now: number): VerifiedPayload {
  const authorization = headerValue(request.headers, 'authorization')
  const presigned = request.query.has('X-Amz-Signature') || request.query.has('X-Amz-Algorithm')
  if (presigned && authorization !== undefined) {
    throw refusal('InvalidArgument', 'Only one auth mechanism allowed')
  }
  if (!presigned && authorization === undefined) throw refusal('AccessDenied', 'Access Denied')

  const claim = presigned ? claimOfQuery(request, now) : claimOfHeader(request, authorization ?? '', now)
  const [accessKeyId, day, region, service, terminator, ...rest] = claim.credential.split('/')
  if (day !== claim.date.slice(0, 8) || service !== 's3' || terminator !== 'aws4_request' || rest.length > 0) {
    throw refusal('AuthorizationHeaderMalformed', 'The credential scope is malformed')
  }
  if (accessKeyId !== credentials.accessKeyId) {
    throw refusal('InvalidAccessKeyId', 'The access key id does not exist in our records')
  }
  requireSignedHeaders(request, claim.signedHeaders)

  const scope = [day, region, service, terminator].join('/')
  const canonical = canonicalRequest(request, claim, presigned)
  const stringToSign = [ALGORITHM, claim.date, scope, createHash('sha256').update(canonical).digest('hex')].join('\n')
  const key = [day, region ?? '', service, terminator].reduce<string | Buffer>(
    (current, part) => createHmac('sha256', current).update(part).digest(),
    `AWS4${credentials.secretAccessKey}`,
  )
  const expected = createHmac('sha256', key).update(stringToSign).digest()
  const given = Buffer.from(claim.signature, 'hex')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw refusal(
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided',
    )
  }
  return { sha256: claim.payloadHash === UNSIGNED_PAYLOAD ? undefined : claim.payloadHash }
}

function claimOfHeader(request: SignedRequest, authorization: string, now: number): Claim {
  const [, credential, signedHeaders, signature] = AUTHORIZATION.exec(authorization) ?? []
  const date = headerValue(request.headers, 'x-amz-date') ?? ''
  const payloadHash = headerValue(request.headers, 'x-amz-content-sha256')
  if (credential === undefined || signedHeaders === undefined || signature === undefined) {
    throw refusal('AuthorizationHeaderMalformed', 'The authorization header is malformed')
  }
  if (payloadHash === undefined) throw refusal('InvalidRequest', 'Missing required header x-amz-content-sha256')
  if (Math.abs(now - instantOf(date)) > CLOCK_SKEW_MS) {
    throw refusal('RequestTimeTooSkewed', 'The difference between the request time and the current time is too large')
  }
  return { credential, date, signedHeaders: signedHeaders.split(';'), signature, payloadHash }
}

function claimOfQuery(request: SignedRequest, now: number): Claim {
  const [algorithm = '', credential = '', date = '', expires = '', signedHeaders = '', signature = ''] =
    QUERY_PARAMETERS.map((name) => {
      const [value, ...more] = request.query.getAll(name)
      if (value === undefined || more.length > 0) {
        throw refusal('AuthorizationQueryParametersError', `${name} must be given exactly once`)
      }
      return value
    })
  const seconds = Number(expires)
  if (algorithm !== ALGORITHM || !/^\d{1,6}$/.test(expires) || seconds < 1 || seconds > LONGEST_EXPIRY_SECONDS) {
    throw refusal('AuthorizationQueryParametersError', 'The query parameters of the signature are malformed')
  }
  const signedAt = instantOf(date)
  if (signedAt - now > CLOCK_SKEW_MS) throw refusal('AccessDenied', 'Request is not yet valid')
  if (now >= signedAt + seconds * 1000) throw refusal('AccessDenied', 'Request has expired')
  const payloadHash =
    request.query.get('X-Amz-Content-Sha256') ??
    headerValue(request.headers, 'x-amz-content-sha256') ??
    UNSIGNED_PAYLOAD
  return { credential, date, signedHeaders: signedHeaders.split(';'), signature, payloadHash }
}

/** A party that forwards the request must not be able to add a header that changes what S3 does. */
function requireSignedHeaders(request: SignedRequest, signed: readonly string[]): void {
  const unsigned = Object.keys(request.headers).filter((name) => name.startsWith('x-amz-') && !signed.includes(name))
  if (!signed.includes('host') || unsigned.length > 0) {
    throw refusal('AccessDenied', 'There were headers present in the request which were not signed')
  }
}

function canonicalRequest(request: SignedRequest, claim: Claim, presigned: boolean): string {
  const path = request.path
    .split('/')
    .map((segment) => encode(decode(segment)))
    .join('/')
  const query = [...request.query]
    .filter(([name]) => !(presigned && name === 'X-Amz-Signature'))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
  const headers = claim.signedHeaders.map(
    (name) => `${name}:${(headerValue(request.headers, name) ?? '').trim().replace(/ +/g, ' ')}\n`,
  )
  return [request.method, path, query, headers.join(''), claim.signedHeaders.join(';'), claim.payloadHash].join('\n')
}

function headerValue(headers: SignedRequest['headers'], name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(',') : value
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refusal('InvalidURI', 'The address is not valid')
  }
}

/** Percent-encoding by the rules of the signature. It leaves fewer characters unencoded than `encodeURIComponent`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Milliseconds since the epoch of a basic ISO 8601 instant, `20250131T120000Z`. */
function instantOf(date: string): number {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? []
  if (year === undefined) throw refusal('AccessDenied', 'The request has no valid date')
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

function refusal(code: ErrorCode, message: string): S3Error {
  return new S3Error(code, message)
}
