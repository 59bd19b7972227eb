import { createHash, createHmac } from 'node:crypto'

export interface AddressSigner {
  /** Where a content type is named, the request must carry it. */
  readonly presign: (request: PresignedRequest) => string
}

export interface PresignedRequest {
  readonly method: 'GET' | 'PUT'
  /** Without the endpoint: bucket and key, not encoded. */
  readonly path: string
  readonly contentType?: string
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

const algorithm = 'AWS4-HMAC-SHA256'

/**
 * Addresses that need no further credentials until they expire: AWS Signature Version 4 in the query, body left open, as
 * every S3-compatible store takes it. Pure computation of some 20 µs; the SDK's own takes half a millisecond, of each image.
 */
export function createAddressSigner({ endpoint, region, accessKeyId, secretAccessKey }: AddressSignerOptions): AddressSigner {
  const { origin, host, pathname } = new URL(endpoint)
  const base = pathname.replace(/\/$/, '')
  const keyOf = dailyKey(secretAccessKey, region)

  return {
    presign({ method, path, contentType, signedAt, ttlSeconds }) {
      const date = `${signedAt.toISOString().slice(0, 19).replaceAll(/[:-]/g, '')}Z`
      const day = date.slice(0, 8)
      const scope = `${day}/${region}/s3/aws4_request`
      const signedHeaders = contentType === undefined ? 'host' : 'content-type;host'
      const headers = contentType === undefined ? `host:${host}\n` : `content-type:${contentType}\nhost:${host}\n`
      const address = base + path.split('/').map(encoded).join('/')
      // In the order of their names, as they are signed.
      const query = [
        ['X-Amz-Algorithm', algorithm],
        ['X-Amz-Credential', `${accessKeyId}/${scope}`],
        ['X-Amz-Date', date],
        ['X-Amz-Expires', String(ttlSeconds)],
        ['X-Amz-SignedHeaders', signedHeaders],
      ]
        .map(([name = '', value = '']) => `${name}=${encoded(value)}`)
        .join('&')
      const canonical = `${method}\n${address}\n${query}\n${headers}\n${signedHeaders}\nUNSIGNED-PAYLOAD`
      const toSign = `${algorithm}\n${date}\n${scope}\n${createHash('sha256').update(canonical).digest('hex')}`
      const signature = createHmac('sha256', keyOf(day)).update(toSign).digest('hex')
      return `${origin}${address}?${query}&X-Amz-Signature=${signature}`
    },
  }
}

/** The key of a day, kept until another day is asked for. */
function dailyKey(secret: string, region: string): (day: string) => Buffer {
  let known: { readonly day: string; readonly key: Buffer } = { day: '', key: Buffer.alloc(0) }
  return (day) => {
    if (known.day !== day) {
      const parts = [day, region, 's3', 'aws4_request']
      const key = parts.reduce<Buffer>((last, part) => createHmac('sha256', last).update(part).digest(), Buffer.from(`AWS4${secret}`))
      known = { day, key }
    }
    return known.key
  }
}

/** Percent-encoded but for the unreserved characters of RFC 3986. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}
