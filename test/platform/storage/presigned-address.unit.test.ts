import { expect, test } from 'vitest'
import { createAddressSigner } from '../../../platform/storage/presigned-address.ts'

const example = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
}
const signedAt = new Date('2013-05-24T00:00:00.000Z')

test('signs the documented example of Signature Version 4 exactly', () => {
  const signer = createAddressSigner({ endpoint: 'https://examplebucket.s3.amazonaws.com', ...example })
  const url = new URL(signer.presign({ method: 'GET', path: '/test.txt', signedAt, ttlSeconds: 86_400 }))
  expect(url.origin + url.pathname).toBe('https://examplebucket.s3.amazonaws.com/test.txt')
  expect(Object.fromEntries(url.searchParams)).toEqual({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request',
    'X-Amz-Date': '20130524T000000Z',
    'X-Amz-Expires': '86400',
    'X-Amz-SignedHeaders': 'host',
    'X-Amz-Signature': 'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  })
})

test('keeps the path of the endpoint, and encodes all characters of a key', () => {
  const signer = createAddressSigner({ endpoint: 'http://127.0.0.1:9000/store/', ...example })
  const url = new URL(
    signer.presign({
      method: 'PUT',
      path: "/images/a b/(1)'*!é.jpg",
      contentType: 'image/jpeg',
      signedAt,
      ttlSeconds: 60,
    }),
  )
  expect(url.pathname).toBe('/store/images/a%20b/%281%29%27%2A%21%C3%A9.jpg')
  expect(url.searchParams.get('X-Amz-SignedHeaders')).toBe('content-type;host')
})

test('signs with a new key on another day', () => {
  const signer = createAddressSigner({ endpoint: 'https://store.example', ...example })
  const signatureOf = (at: string) =>
    new URL(signer.presign({ method: 'GET', path: '/b/k', signedAt: new Date(at), ttlSeconds: 60 })).searchParams.get(
      'X-Amz-Signature',
    )
  const [first, second] = [signatureOf('2026-01-01T23:59:59.000Z'), signatureOf('2026-01-02T00:00:00.000Z')]
  expect(new Set([first, second]).size).toBe(2)
  expect(signatureOf('2026-01-01T23:59:59.000Z')).toBe(first)
})
