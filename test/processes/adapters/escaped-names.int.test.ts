import { Readable } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { createPlatformToken } from '../../../processes/adapters/platform-token.ts'
import { createProvider } from '../../../processes/adapters/provider.ts'
import { getFromService } from '../../../processes/adapters/service-call.ts'
import { startOutsideServer } from '../../support/process-world.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const { signal } = new AbortController()
const now = () => new Date('2030-01-01T00:00:00.000Z')

/** Reads an answer with an escape in its last name, after the name that V8 may confuse with it: https://github.com/nodejs/node/issues/63785. */
async function heard(
  name: string,
  value: unknown,
  ask: (
    egress: ReturnType<typeof createEgress>,
    configuration: ReturnType<typeof loadConfiguration>,
  ) => Promise<unknown>,
) {
  const written = `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`
  const planted = written.slice(0, name.length)
  const server = await startOutsideServer(({ route }) => {
    JSON.parse(`{"expires_in":60,"of ${name}":0,"\\${planted}":1}`)
    const text = `{"expires_in":60,"of ${name}":0,"${written}":${JSON.stringify(value)}}`
    return { status: 200, text, headers: route === 'POST /api5/login' ? { authorization: 'session' } : {} }
  })
  const configuration = loadConfiguration({
    BASE_URL: server.url,
    PROVIDER_BASE_URL: server.url,
    PROVIDER_LOGIN: 'platform',
    PROVIDER_PASSWORD: 'secret',
    SERVICE_CLIENT_ID: 'client',
    SERVICE_CLIENT_SECRET: 'secret',
  })
  const egress = createEgress({ configuration })
  closing.push(
    () => egress.close(),
    () => server.close(),
  )
  const answers: unknown[] = []
  for (const _ of [1, 2, 3]) answers.push(await ask(egress, configuration))
  return answers
}

const thrice = (value: unknown) => [value, value, value]

test('a case of the provider is found by its name', async () => {
  expect(
    await heard('caseId', 7, (egress, configuration) => createProvider(egress, configuration, now).createCase(signal)),
  ).toEqual(thrice({ kind: 'ok', status: 200, value: { providerCaseId: 7 } }))
})

test('an image is found by its name', async () => {
  const image = {
    providerCaseId: 7,
    imageType: 'DERMOSCOPIC',
    correlationId: null,
    contentType: 'image/png',
    bytes: 1,
    open: async () => Readable.from(['x']),
  } as const
  const answers = await heard('imageId', 8, (egress, configuration) =>
    createProvider(egress, configuration, now).sendImage(image, signal),
  )
  expect(answers).toMatchObject(thrice({ kind: 'ok', value: { providerImageId: 8, providerImageHash: null } }))
})

test('a checksum is found by its name', async () => {
  expect(
    await heard('checksum', 'c', (egress, configuration) =>
      createProvider(egress, configuration, now).process(7, signal),
    ),
  ).toEqual(thrice({ kind: 'ok', status: 200, value: { checksum: 'c' } }))
})

test('the answer of a service is found by its name', async () => {
  const token = { get: async () => 'token', drop: () => undefined }
  const answers = await heard('granted', true, (egress, { baseUrl }) =>
    getFromService({ egress, token }, new URL('/v1/thing', baseUrl), signal),
  )
  expect(answers).toEqual(thrice({ kind: 'answer', body: { expires_in: 60, 'of granted': 0, granted: true } }))
})

test("the platform's token is found by its name", async () => {
  expect(
    await heard('access_token', 'held', (egress, configuration) =>
      createPlatformToken(egress, configuration, now).get(),
    ),
  ).toEqual(thrice('held'))
})
