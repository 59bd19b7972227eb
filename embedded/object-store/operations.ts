import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { requireDeclaredBody, withCrc32 } from './body-digest.ts'
import { conditionsHold, preconditionFailed, requestedRange } from './conditions.ts'
import { S3Error } from './errors.ts'
import type { BodyDigests, ObjectMeta } from './object-file.ts'
import type { Objects } from './objects.ts'
import { copyResult, listResult } from './xml.ts'

/** A request with a valid signature. */
export type Call = {
  request: IncomingMessage
  response: ServerResponse
  query: URLSearchParams
  bucket: string
  key: string
  signedSha256: string | undefined
}

/**
 * Images have at most 20 MiB, provider responses less. The limit stops an upload by a presigned URL from filling the
 * disk.
 */
const LARGEST_OBJECT_BYTES = 32 * 1024 ** 2
const MOST_KEYS = 1000
const CUSTOM = 'x-amz-meta-'
/** Response headers that a signed GET may set, as in S3, for example for download names. */
const OVERRIDES = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
]

export async function putObject(objects: Objects, call: Call): Promise<void> {
  const noneMatch = call.request.headers['if-none-match']
  if (noneMatch !== undefined && noneMatch !== '*')
    throw new S3Error('NotImplemented', 'Only If-None-Match: * is supported here')

  const { body, check } = receivedBody(call)
  const meta = await objects.put({
    bucket: call.bucket,
    key: call.key,
    body,
    onlyIfAbsent: noneMatch === '*',
    describe: (digests) => {
      check(digests)
      return describedBy(call.request)
    },
  })
  call.response.writeHead(200, { etag: `"${meta.etag}"`, 'content-length': 0 }).end()
}

/** The body of an object or a part, and the check of what the request declares about it. */
export function receivedBody(call: Call): { readonly body: Readable; readonly check: (digests: BodyDigests) => void } {
  const { headers } = call.request
  const encoding = headers['content-encoding'] ?? ''
  if (encoding.includes('aws-chunked') || call.signedSha256?.startsWith('STREAMING-') === true) {
    throw new S3Error('NotImplemented', 'Bodies in the aws-chunked encoding are not supported')
  }
  const length = headers['content-length']
  if (length === undefined) throw new S3Error('MissingContentLength', 'You must provide the Content-Length HTTP header')
  if (Number(length) > LARGEST_OBJECT_BYTES) throw new S3Error('EntityTooLarge', 'Your proposed upload is too large')
  const observed = withCrc32(call.request)
  return {
    body: observed.body,
    check(digests) {
      if (digests.size !== Number(length)) throw new S3Error('IncompleteBody', 'The request body ended early')
      requireDeclaredBody(headers, call.signedSha256, digests, observed.crc32())
    },
  }
}

export async function copyObject(objects: Objects, call: Call): Promise<void> {
  const { headers } = call.request
  call.request.resume()
  const [bucket, key] = copySource(header(headers['x-amz-copy-source']) ?? '')
  const source = await objects.open(bucket, key)
  try {
    const held = conditionsHold(source.meta.etag, {
      match: header(headers['x-amz-copy-source-if-match']),
      noneMatch: header(headers['x-amz-copy-source-if-none-match']),
    })
    if (!held.match || !held.noneMatch) throw preconditionFailed()
    const replace = headers['x-amz-metadata-directive'] === 'REPLACE'
    const meta = await objects.put({
      bucket: call.bucket,
      key: call.key,
      body: objects.bytes(source),
      onlyIfAbsent: headers['if-none-match'] === '*',
      describe: () =>
        replace ? describedBy(call.request) : { contentType: source.meta.contentType, custom: source.meta.custom },
    })
    sendXml(call.response, 200, copyResult(meta.etag, meta.modifiedAt))
  } finally {
    await source.handle.close()
  }
}

/** GET and HEAD of an object, with conditions and a byte range. */
export async function getObject(objects: Objects, call: Call): Promise<void> {
  const { headers, method } = call.request
  const source = await objects.open(call.bucket, call.key)
  try {
    const held = conditionsHold(source.meta.etag, { match: headers['if-match'], noneMatch: headers['if-none-match'] })
    if (!held.match) throw preconditionFailed()
    if (!held.noneMatch) {
      call.response.writeHead(304, { etag: `"${source.meta.etag}"` }).end()
      return
    }
    const { size } = source.meta
    const range = requestedRange(headers.range, size)
    const { first, last } = range ?? { first: 0, last: size - 1 }
    call.response.writeHead(range === undefined ? 200 : 206, {
      ...objectHeaders(source.meta, call.query),
      'content-length': last - first + 1,
      ...(range === undefined ? {} : { 'content-range': `bytes ${first}-${last}/${size}` }),
    })
    if (method === 'HEAD' || size === 0) call.response.end()
    else await pipeline(objects.bytes(source, first, last), call.response)
  } finally {
    await source.handle.close()
  }
}

export async function deleteObject(objects: Objects, call: Call): Promise<void> {
  await objects.remove(call.bucket, call.key)
  call.response.writeHead(204).end()
}

export async function listObjects(objects: Objects, call: Call): Promise<void> {
  const { query } = call
  if (query.get('list-type') !== '2' || query.has('delimiter')) {
    throw new S3Error('NotImplemented', 'Only ListObjectsV2 without a delimiter is supported')
  }
  const wanted = query.get('max-keys') ?? String(MOST_KEYS)
  if (!/^\d{1,9}$/.test(wanted)) throw new S3Error('InvalidArgument', 'max-keys must be a number')
  const maxKeys = Math.min(Number(wanted), MOST_KEYS)
  const token = query.get('continuation-token') ?? undefined
  const after = token === undefined ? (query.get('start-after') ?? '') : Buffer.from(token, 'base64url').toString()
  const prefix = query.get('prefix') ?? ''
  const page = await objects.list(call.bucket, prefix, after, maxKeys)
  const lastKey = page.objects.at(-1)?.key
  const nextToken = page.more && lastKey !== undefined ? Buffer.from(lastKey).toString('base64url') : undefined
  sendXml(
    call.response,
    200,
    listResult({
      bucket: call.bucket,
      prefix,
      maxKeys,
      objects: page.objects,
      token,
      nextToken,
      urlEncoded: query.get('encoding-type') === 'url',
    }),
  )
}

export async function createBucket(objects: Objects, call: Call): Promise<void> {
  call.request.resume()
  await objects.createBucket(call.bucket)
  call.response.writeHead(200, { location: `/${call.bucket}`, 'content-length': 0 }).end()
}

export async function headBucket(objects: Objects, call: Call): Promise<void> {
  await objects.requireBucket(call.bucket)
  call.response.writeHead(200).end()
}

export function sendXml(response: ServerResponse, status: number, document: string): void {
  response.writeHead(status, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(document) })
  response.end(document)
}

export function describedBy(request: IncomingMessage): Pick<ObjectMeta, 'contentType' | 'custom'> {
  const custom = Object.entries(request.headers).flatMap(([name, value]) =>
    name.startsWith(CUSTOM) && typeof value === 'string' ? [[name.slice(CUSTOM.length), value] as const] : [],
  )
  return {
    contentType: request.headers['content-type'] ?? 'application/octet-stream',
    custom: Object.fromEntries(custom),
  }
}

function objectHeaders(meta: ObjectMeta, query: URLSearchParams): Record<string, string> {
  const overrides = OVERRIDES.flatMap((name) => {
    const value = query.get(`response-${name}`)
    return value === null ? [] : [[name, value] as const]
  })
  return {
    'content-type': meta.contentType,
    etag: `"${meta.etag}"`,
    'last-modified': new Date(meta.modifiedAt).toUTCString(),
    'accept-ranges': 'bytes',
    ...Object.fromEntries(Object.entries(meta.custom).map(([name, value]) => [`${CUSTOM}${name}`, value])),
    ...Object.fromEntries(overrides),
  }
}

function copySource(value: string): [bucket: string, key: string] {
  const [, bucket, key] = /^\/?([^/?]+)\/([^?]+)$/.exec(value) ?? []
  if (bucket === undefined || key === undefined) throw invalidSource()
  try {
    return [bucket, decodeURIComponent(key)]
  } catch {
    throw invalidSource()
  }
}

function invalidSource(): S3Error {
  return new S3Error('InvalidArgument', 'The copy source is not valid')
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
