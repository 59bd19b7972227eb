import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { closeGently } from '../../platform/kit/early-answers.ts'
import { pathOf } from '../children/request-path.ts'
import { S3Error } from './errors.ts'
import type { Objects } from './objects.ts'
import {
  type Call,
  copyObject,
  createBucket,
  deleteObject,
  getObject,
  headBucket,
  listObjects,
  putObject,
  sendXml,
} from './operations.ts'
import { type Credentials, verifySignature } from './signature.ts'
import { uploadOperationOf } from './upload-operations.ts'
import type { Uploads } from './uploads.ts'
import { errorDocument } from './xml.ts'

type Stored = { readonly objects: Objects; readonly uploads: Uploads }

type Operation = (objects: Objects, call: Call) => Promise<void>

/** S3 sub-resources that change the meaning of a request. Treating one as the plain request would corrupt data. */
const UNSUPPORTED = ['acl', 'delete', 'lifecycle', 'policy', 'tagging', 'versionId', 'versioning', 'versions']

/** Any other request with these is no operation of a multipart upload. */
const OF_UPLOADS = ['partNumber', 'uploadId', 'uploads']

/** An HTTP server for the part of S3's REST interface that the platform uses, in path style. */
export function objectStoreServer(
  { objects, uploads }: Stored,
  credentials: Credentials,
  onFailure: (error: unknown) => void,
  origins: readonly string[] = [],
): Server {
  return createServer((request, response) => {
    const requestId = randomUUID()
    response.setHeader('x-amz-request-id', requestId)
    // Objects have the type that their writer gave. A browser must not guess another one.
    response.setHeader('x-content-type-options', 'nosniff')
    if (answersPreflight(request, response, origins)) return
    answer({ objects, uploads }, credentials, request, response).catch((error: unknown) => {
      if (!(error instanceof S3Error) && !response.destroyed) onFailure(error)
      refuse(response, error, requestId)
    })
  })
}

/** Lets pages of these origins upload to signed addresses, and read them. A preflight has no signature. */
function answersPreflight(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
): boolean {
  if (origins.length > 0) response.setHeader('vary', 'origin')
  if (headers.origin === undefined || !origins.includes(headers.origin)) return false
  response.setHeader('access-control-allow-origin', headers.origin)
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false
  response.setHeader('access-control-allow-methods', 'GET, PUT')
  response.setHeader('access-control-allow-headers', 'content-type')
  response.setHeader('access-control-max-age', '3600')
  response.writeHead(204).end()
  return true
}

async function answer(
  { objects, uploads }: Stored,
  credentials: Credentials,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path, search] = splitOnce(request.url ?? '/', '?')
  const query = new URLSearchParams(search.replaceAll('+', '%2B'))
  const { sha256 } = verifySignature(
    { method: request.method ?? '', path, query, headers: request.headers },
    credentials,
    Date.now(),
  )
  const [bucket, key] = splitOnce(path.slice(1), '/')
  const call = {
    request,
    response,
    query,
    bucket: decodeURIComponent(bucket),
    key: decodeURIComponent(key),
    signedSha256: sha256,
  }
  const ofUpload = uploadOperationOf(call)
  if (ofUpload === undefined) await operationOf(request, call)(objects, call)
  else await ofUpload(uploads, call)
}

function operationOf(request: IncomingMessage, call: Call): Operation {
  const unsupported = [...UNSUPPORTED, ...OF_UPLOADS]
  if (call.bucket === '' || unsupported.some((name) => call.query.has(name))) {
    throw new S3Error('NotImplemented', 'This part of S3 is not implemented by the embedded store')
  }
  switch (request.method) {
    case 'GET':
      return call.key === '' ? listObjects : getObject
    case 'HEAD':
      return call.key === '' ? headBucket : getObject
    case 'PUT':
      if (call.key === '') return createBucket
      return request.headers['x-amz-copy-source'] === undefined ? putObject : copyObject
    case 'DELETE':
      if (call.key === '') throw new S3Error('NotImplemented', 'Buckets cannot be deleted here')
      return deleteObject
    default:
      throw new S3Error('MethodNotAllowed', 'The specified method is not allowed against this resource')
  }
}

/** Answers in S3's XML. A started answer is cut off, so that no client takes it as complete. */
function refuse(response: ServerResponse, error: unknown, requestId: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const request = response.req
  request.resume()
  closeGently(response)
  const refusal = error instanceof S3Error ? error : new S3Error('InternalError', 'We encountered an internal error')
  if (request.method === 'HEAD') response.writeHead(refusal.status).end()
  else sendXml(response, refusal.status, errorDocument(refusal, pathOf(request), requestId))
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
