import aws4 from 'aws4'

export interface AddressSigner {
  /** The request must have the content type and the length that are given. */
  readonly presign: (request: PresignedRequest) => string
  /** The address without a signature. It opens nothing. */
  readonly plain: (path: string) => string
}

export interface PresignedRequest {
  readonly method: 'GET' | 'PUT'
  /** Without the endpoint: bucket and key, not encoded. */
  readonly path: string
  readonly contentType?: string | undefined
  /** Length of the body. No other length is accepted. */
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
 * Addresses that need no other credentials until they expire: AWS Signature Version 4 in the query, body not signed, as
 * every S3-compatible store accepts it. The SDK's presigner runs its whole middleware stack for each address (decision
 * 0003).
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

/** By RFC 3986, as Signature Version 4 requires. `encodeURIComponent` leaves five reserved characters. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
