import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { objectStore } from '../../../embedded/object-store/start-object-store.ts'
import { provider } from '../../../embedded/provider/start-provider.ts'
import { receivers } from '../../../embedded/receivers/start-receivers.ts'
import { startStandIns } from '../../../embedded/stand-ins/start-stand-ins.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stand-ins-'))
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const objects = (port: number) =>
  objectStore({ dataDir: join(folder, 'objects'), port, accessKeyId: 'key', secretAccessKey: 's', bucket: 'images' })
const simulator = (port: number) =>
  provider({ dataDir: join(folder, 'provider'), port, login: 'demo', password: 's', controlSecret: 's' })

/** The status of an answer; null if nobody listens. */
const statusOf = (url: string) =>
  fetch(url).then(
    ({ status }) => status,
    () => null,
  )

test('object store, provider and receivers share one process, which ends all of them', async () => {
  const [storePort, providerPort, receiversPort, smtpPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const secrets = { smtpPassword: 's', botToken: 's', readSecret: 'secret', controlSecret: 's' }
  const standIns = [
    objects(storePort),
    simulator(providerPort),
    receivers({ dataDir: join(folder, 'receivers'), port: receiversPort, smtpPort, ...secrets }),
  ] as const
  const child = await startStandIns(standIns, {})
  const { endpoint } = standIns[0].at(storePort)
  const urls = [
    `${endpoint}/images`,
    `${standIns[1].at(providerPort).url}/health`,
    `${standIns[2].at(receiversPort).mailboxUrl}/email`,
  ]
  expect(await Promise.all(urls.map(statusOf))).toEqual([403, 200, 200])
  await child.stop()
  expect(await child.exited).toBe(0)
  expect(await Promise.all(urls.map(statusOf))).toEqual([null, null, null])
})

test('if one of them cannot start, none runs, and the error names it', async () => {
  const port = await freePort()
  const starting = startStandIns([objects(port), { ...simulator(await freePort()), env: {} }], {})
  await expect(starting).rejects.toThrow(
    /^embedded object store, provider simulator did not start:[^]*provider simulator needs --data, PROVIDER_LOGIN/,
  )
  expect(await statusOf(`http://127.0.0.1:${port}`)).toBeNull()
})
