import { connect } from 'node:net'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { contractStore, counted, revisions } from './contract-store.ts'

const { answers, client, store, stream } = contractStore()

const address = (path: string): URL => new URL(path, store().url.replace('esdb:', 'http:'))

test('GET /health/live reports that the server lives', async () => {
  const response = await fetch(address('/health/live'))
  expect(response.ok).toBe(true)
  await response.text()
})

test('GET /ping reports that the server answers', async () => {
  const response = await fetch(address('/ping'))
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(await response.json()).toMatchObject({ text: 'Ping request successfully handled' })
})

test('GET /info describes the server', async () => {
  const response = await fetch(address('/info'))
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const info: unknown = await response.json()
  expect(info).toMatchObject({ state: 'leader', features: { projections: false, atomPub: false } })
  const version = expect.stringMatching(/^2\d\.\d+\.\d+/)
  const described = (name: string, properties: unknown): unknown =>
    expect.objectContaining({
      [name]: version,
      authentication: expect.objectContaining({ type: 'insecure', properties }),
    })
  expect(info).toBeOneOf(answers(described('esVersion', null), described('dbVersion', [])))
})

test('GET /stats returns JSON', async () => {
  const response = await fetch(address('/stats'))
  expect(response.status).toBe(200)
  expect(typeof (await response.json())).toBe('object')
})

test('serves HTTP requests and gRPC calls on one port at the same time', async () => {
  const name = stream()
  const asked = Array.from({ length: 20 }, async () => (await fetch(address('/info'))).status)
  const appended = Array.from({ length: 20 }, (_, n) => client().appendToStream(name, counted(n)))
  expect(await Promise.all(asked)).toEqual(asked.map(() => 200))
  expect((await Promise.all(appended)).every(({ success }) => success)).toBe(true)
  expect(await revisions(client().readStream(name))).toHaveLength(20)
})

test('closes a connection of an unknown protocol and continues', async () => {
  const { hostname, port } = address('/')
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write('\u0016\u0003\u0001 nothing that anybody speaks\r\n\r\n')
  await text(socket)
  expect((await fetch(address('/info'))).status).toBe(200)
})
