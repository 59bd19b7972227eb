import {
  BACKWARDS,
  END,
  type EventStoreDBClient,
  binaryEvent,
  START,
  eventTypeFilter,
  jsonEvent,
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
  streamNameFilter,
} from '@eventstore/db-client'
import { Client, Metadata, credentials, status } from '@grpc/grpc-js'
import { readdir, readFile, stat } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { channelStreams } from '../../streams/channels/channel-streams.ts'
import { channel, ConsumerNode, first, foreign, noted, outcome, patient, platformPassword } from './consumer-node.ts'

const group = 'billing'
const consumers = ConsumerNode.ofThisFile()
const as = (login: string) => consumers.as(login)

beforeAll(async () => {
  await as('platform').createPersistentSubscriptionToStream(channel, group, fromTheStart)
  await as('platform').createPersistentSubscriptionToStream(patient, group, fromTheStart)
  await as('platform').createPersistentSubscriptionToAll(group, persistentSubscriptionToAllSettingsFromDefaults())
})

const fromTheStart = persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: 'start' })
const link = (target: string) => binaryEvent({ type: '$>', data: Buffer.from(target) })

type Call = (client: EventStoreDBClient) => Promise<unknown>

const granted: Readonly<Record<string, Call>> = {
  'reading a channel': (client) => first(client.readStream(channel)),
  'reading a channel backwards': (client) =>
    first(client.readStream(channel, { direction: BACKWARDS, fromRevision: END, maxCount: 1 })),
  'reading a channel with links': (client) => first(client.readStream(channel, { resolveLinkTos: true })),
  'following a channel': (client) => first(client.subscribeToStream(channel, { fromRevision: START })),
  'looking at its group': (client) => client.getPersistentSubscriptionToStreamInfo(channel, group),
  'listing groups': (client) => client.listAllPersistentSubscriptions(),
  'consuming from its group': (client) => first(client.subscribeToPersistentSubscriptionToStream(channel, group)),
  'writing to a foreign channel': (client) => client.appendToStream(foreign, noted(2)),
}

const settings = { $userStreamAcl: { $r: ['$all'] }, $systemStreamAcl: { $r: ['$all'] } }

const denied: Readonly<Record<string, Call>> = {
  ...Object.fromEntries(
    [patient, 'patient-2', foreign, '$settings', '$users', '$$$settings', `$$${channel}`, `$ce-patient`].flatMap(
      (stream): [string, Call][] => [
        [`reading ${stream}`, (client) => first(client.readStream(stream))],
        [`following ${stream}`, (client) => first(client.subscribeToStream(stream, { fromRevision: START }))],
      ],
    ),
  ),
  ...Object.fromEntries(
    [channel, patient, 'patient-2', 'assessment.events2', '$settings', '$user-billing', '$>', `$$${foreign}`].map(
      (stream): [string, Call] => [`writing to ${stream}`, (client) => client.appendToStream(stream, noted(9))],
    ),
  ),
  ...Object.fromEntries(
    [channel, foreign, patient, '$settings'].flatMap((stream): [string, Call][] => [
      [`deleting ${stream}`, (client) => client.deleteStream(stream)],
      [`deleting ${stream} for ever`, (client) => client.tombstoneStream(stream)],
      [`reading metadata of ${stream}`, (client) => client.getStreamMetadata(stream)],
      [
        `writing an access list of ${stream}`,
        (client) => client.setStreamMetadata(stream, { acl: { readRoles: ['$all'], writeRoles: ['$all'] } }),
      ],
      [`hiding events of ${stream}`, (client) => client.setStreamMetadata(stream, { truncateBefore: 1 })],
    ]),
  ),
  'reading the log': (client) => first(client.readAll()),
  'reading the log backwards': (client) =>
    first(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })),
  'following the log': (client) => first(client.subscribeToAll()),
  'following channels in the log': (client) =>
    first(client.subscribeToAll({ filter: streamNameFilter({ prefixes: [channel] }) })),
  'following types in the log': (client) => first(client.subscribeToAll({ filter: eventTypeFilter({ regex: '.' }) })),
  'opening the log': (client) => client.setStreamMetadata('$all', { acl: { readRoles: ['$all'] } }),
  'opening every stream': (client) =>
    client.appendToStream('$settings', jsonEvent({ type: '$settings', data: settings })),
  'writing a link to a channel': (client) => client.appendToStream(channel, link(`0@${patient}`)),
  'an append of its own call': (client) =>
    client.appendToStream(channel, noted(9), {
      credentials: { username: 'billing', password: consumers.passwords['billing'] ?? '' },
    }),
  'making a group': (client) => client.createPersistentSubscriptionToStream(channel, 'another', fromTheStart),
  'making a group on the log': (client) =>
    client.createPersistentSubscriptionToAll('another', persistentSubscriptionToAllSettingsFromDefaults()),
  'changing its group': (client) => client.updatePersistentSubscriptionToStream(channel, group, fromTheStart),
  'deleting its group': (client) => client.deletePersistentSubscriptionToStream(channel, group),
  'replaying its group': (client) => client.replayParkedMessagesToStream(channel, group),
  'restarting all groups': (client) => client.restartPersistentSubscriptionSubsystem(),
  'consuming from a group of another stream': (client) =>
    first(client.subscribeToPersistentSubscriptionToStream(patient, group)),
  'consuming from a group of the log': (client) => first(client.subscribeToPersistentSubscriptionToAll(group)),
}

test.each(Object.entries(granted))('a consumer is granted %s', async (_name, call) => {
  expect(await outcome(call(as('billing')))).toBe('granted')
})

// In sequence on clients of their own: a refused append can end other appends of its client.
test.each(Object.entries(denied))('a consumer is denied %s', async (_name, call) => {
  expect(await outcome(call(as('billing')))).toBe('denied')
})

test('a consumer can read every channel, and nothing else that the platform writes', async () => {
  for (const { name } of channelStreams) {
    const read = first(as('lab').readStream(name)).catch((error: Error) => 'type' in error && error.type)
    expect([name, await read]).toEqual([name, name === channel ? expect.anything() : 'stream-not-found'])
  }
})

test('a link that a consumer writes to a foreign channel shows it nothing', async () => {
  await as('lab').appendToStream(foreign, link(`0@${patient}`))
  const read = first(
    as('lab').readStream(foreign, { resolveLinkTos: true, direction: BACKWARDS, fromRevision: END, maxCount: 1 }),
  )
  expect(await outcome(read)).toBe('denied')
})

test('a consumer acknowledges and parks messages; the operator replays them', async () => {
  const subscription = as('lab').subscribeToPersistentSubscriptionToStream(channel, group)
  const seen: unknown[] = []
  subscription.on('data', (message) => {
    seen.push([message.event?.revision, message.retryCount])
    void (seen.length === 1 ? subscription.nack('park', 'a test', message) : subscription.ack(message))
  })
  await expect.poll(() => seen).toHaveLength(2)
  const parked = async () => (await as('lab').getPersistentSubscriptionToStreamInfo(channel, group)).stats
  await expect.poll(parked).toMatchObject({ parkedMessageCount: 1n })
  await as('platform').replayParkedMessagesToStream(channel, group)
  await expect.poll(() => seen).toHaveLength(3)
  await subscription.unsubscribe()
})

/** The status of a request to the node. */
async function statusOf(path: string, auth: string, method = 'GET'): Promise<unknown> {
  const ca = await readFile(new URL(consumers.url).searchParams.get('tlsCAFile') ?? '')
  return new Promise((resolve, reject) => {
    get(`https://localhost:${consumers.port}${path}`, { ca, agent: false, auth, method }, (response) => {
      resolve(response.resume().statusCode)
    }).on('error', reject)
  })
}

test('a consumer gets no figures, and there is nothing else by HTTP', async () => {
  const billing = `billing:${consumers.passwords['billing']}`
  expect(await statusOf('/stats', billing)).toBe(403)
  expect(await statusOf('/stats', `platform:${platformPassword}`)).toBe(200)
  for (const path of [
    `/streams/${patient}`,
    '/streams/$all',
    '/users',
    '/users/billing',
    '/subscriptions',
    '/admin/scavenge',
  ])
    expect([path, await statusOf(path, billing), await statusOf(path, billing, 'POST')]).toEqual([path, 404, 404])
})

test.each([
  'users.Users/Create',
  'users.Users/ChangePassword',
  'operations.Operations/StartScavenge',
  'operations.Operations/Shutdown',
  'monitoring.Monitoring/Stats',
  'projections.Projections/Create',
])('%s does not exist, for the platform neither', async (path) => {
  const ca = await readFile(new URL(consumers.url).searchParams.get('tlsCAFile') ?? '')
  const client = new Client(`localhost:${consumers.port}`, credentials.createSsl(ca))
  const metadata = new Metadata()
  metadata.set('authorization', `Basic ${Buffer.from(`platform:${platformPassword}`).toString('base64')}`)
  const same = (bytes: Buffer) => bytes
  const code = await new Promise((resolve) => {
    client.makeUnaryRequest(`/event_store.client.${path}`, same, same, Buffer.alloc(0), metadata, (error) => {
      resolve(error?.code)
    })
  })
  client.close()
  expect(code).toBe(status.UNIMPLEMENTED)
})

test('the certificate is readable for other users of the machine, and nothing else in the folder', async () => {
  const modeOf = async (path: string) => ((await stat(join(consumers.dataDir, path))).mode & 0o777).toString(8)
  expect(new URL(consumers.url).searchParams.get('tlsCAFile')).toBe(
    join(consumers.dataDir, 'certificates/eventstore.pem'),
  )
  expect([await modeOf('.'), await modeOf('certificates'), await modeOf('certificates/eventstore.pem')]).toEqual([
    '711',
    '755',
    '644',
  ])
  expect(await readdir(join(consumers.dataDir, 'certificates'))).toEqual(['eventstore.pem'])
  const others = (await readdir(consumers.dataDir)).filter((name) => name !== 'certificates')
  for (const name of others) expect([name, await modeOf(name)]).toEqual([name, '700'])
})
