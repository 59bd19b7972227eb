import { buffer } from 'node:stream/consumers'
import { S3Error } from './errors.ts'
import { type Call, describedBy, receivedBody, sendXml } from './operations.ts'
import { MOST_PARTS, type Uploads } from './uploads.ts'
import { beganResult, completedResult, uploadsResult } from './xml.ts'

const LARGEST_LIST_BYTES = 2 * 1024 ** 2

/** The operation of a multipart upload that a request names. Undefined for any other request. */
export function uploadOperationOf(call: Call): ((uploads: Uploads, call: Call) => Promise<void>) | undefined {
  const { request, query, key } = call
  const isOfUpload = query.has('uploadId')
  if (query.has('uploads')) {
    if (request.method === 'GET' && key === '') return listUploads
    if (request.method === 'POST' && key !== '') return beginUpload
  }
  if (request.method === 'PUT' && isOfUpload && query.has('partNumber')) return putPart
  if (request.method === 'POST' && isOfUpload) return completeUpload
  if (request.method === 'DELETE' && isOfUpload) return abortUpload
  return undefined
}

async function beginUpload(uploads: Uploads, { request, response, bucket, key }: Call): Promise<void> {
  request.resume()
  const id = await uploads.begin({ bucket, key, initiatedAt: new Date().toISOString(), ...describedBy(request) })
  sendXml(response, 200, beganResult(bucket, key, id))
}

async function putPart(uploads: Uploads, call: Call): Promise<void> {
  const number = Number(call.query.get('partNumber'))
  if (!Number.isSafeInteger(number) || number < 1 || number > MOST_PARTS)
    throw new S3Error('InvalidArgument', `Part number must be an integer between 1 and ${MOST_PARTS}`)
  if (call.request.headers['x-amz-copy-source'] !== undefined)
    throw new S3Error('NotImplemented', 'Parts are not copied here')
  const { body, check } = receivedBody(call)
  const etag = await uploads.put(idOf(call), number, body, check)
  call.response.writeHead(200, { etag: `"${etag}"`, 'content-length': 0 }).end()
}

async function completeUpload(uploads: Uploads, call: Call): Promise<void> {
  const { request, response, bucket, key } = call
  if (Number(request.headers['content-length']) > LARGEST_LIST_BYTES)
    throw new S3Error('EntityTooLarge', 'Your proposed list of parts is too large')
  const text = (await buffer(request)).toString()
  const parts = [...text.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => ({
    number: Number(/<PartNumber>(\d+)<\/PartNumber>/.exec(part)?.[1]),
    etag: /<ETag>(?:"|&quot;)?([0-9a-f]{32})(?:"|&quot;)?<\/ETag>/.exec(part)?.[1] ?? '',
  }))
  const { etag } = await uploads.complete(idOf(call), parts)
  sendXml(response, 200, completedResult(bucket, key, etag))
}

async function abortUpload(uploads: Uploads, call: Call): Promise<void> {
  await uploads.abort(idOf(call))
  call.response.writeHead(204).end()
}

async function listUploads(uploads: Uploads, { response, bucket, query }: Call): Promise<void> {
  const prefix = query.get('prefix') ?? ''
  sendXml(response, 200, uploadsResult(bucket, prefix, await uploads.list(bucket, prefix)))
}

function idOf({ query }: Call): string {
  return query.get('uploadId') ?? ''
}
