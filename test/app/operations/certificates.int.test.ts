import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { certificates } from '../../../app/operations/doctor.ts'
import { startTlsFront, type TlsFront } from '../../support/tls-front.ts'

const server = createServer()
let front: TlsFront
let end: number
beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  front = await startTlsFront(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  end = new Date(new X509Certificate(front.certificate).validTo).getTime()
})
afterAll(async () => {
  await front.close()
  await new Promise<void>((resolve) => void server.close(() => resolve()))
})

const day = 86_400_000
it.each([
  [-15 * day, 'ok'],
  [-13 * day, 'warning'],
  [day, 'failing'],
])('a certificate is judged by when it ends (%d ms after now: %s)', async (sinceEnd, status) => {
  const judged = await certificates({ baseUrl: 'http://a.test', providerBaseUrl: front.url }, new Date(end + sinceEnd))
  const detail = status === 'ok' ? null : `that of ${new URL(front.url).host} ends at ${new Date(end).toISOString()}`
  expect(judged).toEqual({ status, detail })
})

it('without a server by https, or one that answers, there is nothing to judge', async () => {
  expect(await certificates({ baseUrl: 'http://a.test' }, new Date())).toMatchObject({ status: 'skipped' })
  expect(await certificates({ s3Endpoint: 'https://127.0.0.1:1' }, new Date())).toMatchObject({ status: 'skipped' })
})
