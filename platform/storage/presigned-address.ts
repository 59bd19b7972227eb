import aws4 from 'aws4'

export interface AddressSigner {
  /** The request must carry the content type and the length that are named. */
  readonly presign: (request: PresignedRequest) => string
  /** The address alone, which opens nothing. */
  readonly plain: (path: string) => string
}

export interface PresignedRequest {
  readonly method: 'GET' | 'PUT'
  /** Without the endpoint: bucket and key, not encoded. */
  readonly path: string
  readonly contentType?: string | undefined
  /** Of the body, which then can have no other length. */
  readonly contentLength?: number | undefined
  /** A whole second. */
  readonly signedAt: Date
  readonly ttlSeconds: number
}

export interface AddressSignerOptions {
  readonly endpoint: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/**
 * Addresses that need no further credentials until they expire: AWS Signature Version 4 in the query, body left open, as
 * every S3-compatible store takes it. The SDK's presigner runs its whole stack of middleware for each (decision 0003).
 */
export function createAddressSigner({
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
}: AddressSignerOptions): AddressSigner {
  const { origin, host, pathname } = new URL(endpoint)
  const base = pathname.replace(/\/$/, '')

  const addressOf = (path: string): string => base + path.split('/').map(encoded).join('/')

  return {
    plain: (path) => origin + addressOf(path),
    presign({ method, path, contentType, contentLength, signedAt, ttlSeconds }) {
      const date = `${signedAt.toISOString().slice(0, 19).replaceAll(/[:-]/g, '')}Z`
      const address = addressOf(path)
      const headers = {
        ...(contentType === undefined ? {} : { 'Content-Type': contentType }),
        ...(contentLength === undefined ? {} : { 'Content-Length': contentLength }),
      }
      const request = {
        service: 's3',
        region,
        method,
        host,
        headers,
        signQuery: true,
        path: `${address}?X-Amz-Date=${date}&X-Amz-Expires=${ttlSeconds}`,
      }
      return origin + (aws4.sign(request, { accessKeyId, secretAccessKey }).path ?? '')
    },
  }
}

/** As RFC 3986 has it, and Signature Version 4 with it: `encodeURIComponent` leaves five characters that are reserved. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
