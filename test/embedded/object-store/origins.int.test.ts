import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { expect, it } from 'vitest'
import { BUCKET as Bucket, clientOf, startStore } from './store-client.ts'

const page = 'https://app.example.org'

it.each([
  ['of one of the origins', page, true],
  ['of another origin', 'https://other.example.org', false],
])('a page %s uploads to a signed address: %s, %s', async (_, origin, isAllowed) => {
  const folder = await mkdtemp(join(tmpdir(), 'objects-'))
  const store = await startStore(folder, 0, [page])
  const s3 = clientOf(store)
  try {
    const command = new PutObjectCommand({ Bucket, Key: 'image', ContentType: 'image/png' })
    const url = await getSignedUrl(s3, command, { expiresIn: 60, signableHeaders: new Set(['content-type']) })
    const asking = { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-type' }
    const preflight = await fetch(url, { method: 'OPTIONS', headers: asking })
    await preflight.arrayBuffer()
    const allowed = ['origin', 'methods', 'headers'].map((name) =>
      preflight.headers.get(`access-control-allow-${name}`),
    )
    expect([preflight.status, ...allowed]).toEqual(
      isAllowed ? [204, page, 'GET, PUT', 'content-type'] : [403, null, null, null],
    )
    expect(preflight.headers.get('vary')).toBe('origin')

    const put = await fetch(url, { method: 'PUT', headers: { origin, 'content-type': 'image/png' }, body: 'x' })
    await put.arrayBuffer()
    expect([put.status, put.headers.get('access-control-allow-origin')]).toEqual([200, isAllowed ? page : null])
    const unsigned = await fetch(url.replace(/Signature=./, 'Signature=0'), {
      method: 'PUT',
      headers: { origin },
      body: 'x',
    })
    await unsigned.arrayBuffer()
    expect(unsigned.status).toBe(403)
  } finally {
    s3.destroy()
    await store.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
