import type { S3Error } from './errors.ts'

export type ListedObject = { key: string; etag: string; size: number; modifiedAt: string }

export type ListPage = {
  bucket: string
  prefix: string
  maxKeys: number
  objects: readonly ListedObject[]
  token: string | undefined
  nextToken: string | undefined
  /** The client requested percent-encoded keys, because XML cannot represent every character. */
  urlEncoded: boolean
}

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
const NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

export function errorDocument(error: S3Error, resource: string, requestId: string): string {
  return `${HEAD}<Error>${element('Code', error.code)}${element('Message', error.message)}${element('Resource', resource)}${element('RequestId', requestId)}</Error>`
}

export function copyResult(etag: string, modifiedAt: string): string {
  return `${HEAD}<CopyObjectResult ${NAMESPACE}>${element('LastModified', modifiedAt)}${element('ETag', `"${etag}"`)}</CopyObjectResult>`
}

export function listResult(page: ListPage): string {
  const name = (key: string): string => (page.urlEncoded ? encodeURIComponent(key).replaceAll('%2F', '/') : key)
  const contents = page.objects.map(
    (object) =>
      `<Contents>${element('Key', name(object.key))}${element('LastModified', object.modifiedAt)}${element('ETag', `"${object.etag}"`)}` +
      `${element('Size', object.size)}${element('StorageClass', 'STANDARD')}</Contents>`,
  )
  return [
    `${HEAD}<ListBucketResult ${NAMESPACE}>`,
    element('Name', page.bucket),
    element('Prefix', name(page.prefix)),
    element('KeyCount', page.objects.length),
    element('MaxKeys', page.maxKeys),
    page.urlEncoded ? element('EncodingType', 'url') : '',
    element('IsTruncated', page.nextToken !== undefined),
    page.token === undefined ? '' : element('ContinuationToken', page.token),
    page.nextToken === undefined ? '' : element('NextContinuationToken', page.nextToken),
    ...contents,
    '</ListBucketResult>',
  ].join('')
}

export function beganResult(bucket: string, key: string, uploadId: string): string {
  const members = element('Bucket', bucket) + element('Key', key) + element('UploadId', uploadId)
  return `${HEAD}<InitiateMultipartUploadResult ${NAMESPACE}>${members}</InitiateMultipartUploadResult>`
}

export function completedResult(bucket: string, key: string, etag: string): string {
  const members = element('Bucket', bucket) + element('Key', key) + element('ETag', `"${etag}"`)
  return `${HEAD}<CompleteMultipartUploadResult ${NAMESPACE}>${members}</CompleteMultipartUploadResult>`
}

export function uploadsResult(
  bucket: string,
  prefix: string,
  uploads: readonly { readonly key: string; readonly id: string; readonly initiatedAt: string }[],
): string {
  const listed = uploads.map(
    ({ key, id, initiatedAt }) =>
      `<Upload>${element('Key', key)}${element('UploadId', id)}${element('Initiated', initiatedAt)}</Upload>`,
  )
  const members = element('Bucket', bucket) + element('Prefix', prefix) + element('IsTruncated', false)
  return `${HEAD}<ListMultipartUploadsResult ${NAMESPACE}>${members}${listed.join('')}</ListMultipartUploadsResult>`
}

function element(name: string, value: string | number | boolean): string {
  return `<${name}>${String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')}</${name}>`
}
