import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startChannelStore, type Channel, type ChannelStore } from '../../tools/examples/channel-store.ts'
import { startExample, type ExampleRun } from '../../tools/examples/example-run.ts'
import { killWhileEventsArrive } from '../../tools/examples/kills.ts'
import { readTotals } from '../../tools/examples/totals-file.ts'
import { waitFor } from '../support/platform.ts'

let store: ChannelStore
let channel: Channel
let folder: string
let database: string
let group: string
let orgId: string
const runs: ExampleRun[] = []

beforeAll(async () => {
  store = await startChannelStore()
})
afterAll(() => store.stop())

beforeEach(async () => {
  channel = await store.newChannel()
  folder = await mkdtemp(join(tmpdir(), 'consumer-'))
  database = join(folder, 'totals.sqlite')
  group = `group-${randomUUID()}`
  orgId = randomUUID()
})
afterEach(async () => {
  for (const run of runs.splice(0)) await run.kill()
  await rm(folder, { recursive: true, force: true })
})

function start(account: 'consumer' | 'operator', ...args: string[]): ExampleRun {
  const settings = { ...channel[account], DATABASE: database, CONSUMER_GROUP: group }
  const run = startExample('typescript-consumer', args, settings)
  runs.push(run)
  return run
}

const table = () => readTotals(database)
const handledOf = (ids: readonly string[]) =>
  table()
    .handled()
    .filter((id) => ids.includes(id))

async function untilHandled(ids: readonly string[]): Promise<void> {
  await waitFor('the events', () => (handledOf(ids).length === ids.length ? true : undefined))
}

describe('the consumer with a checkpoint of its own', () => {
  test('counts each event once, although it is killed at random moments', async () => {
    const published = await killWhileEventsArrive(channel, orgId, 3, () => start('consumer', 'follow'), table)
    expect(handledOf(published)).toHaveLength(published.length)
    expect(table().counts()[orgId]).toBe(published.length)
  })

  test('leaves neither effect nor checkpoint if it is killed between them', async () => {
    const first = await channel.publish(1, orgId)
    const run = start('consumer', 'follow')
    await untilHandled(first)
    const before = table().checkpoint() ?? 0
    // The write of the checkpoint does not end.
    table().change(`CREATE TRIGGER endless BEFORE INSERT ON checkpoint BEGIN SELECT max(n) FROM (
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT n FROM numbers); END`)
    const next = await channel.publish(3, orgId)
    await waitFor('the transaction', () => (table().isBeingWritten() ? true : undefined))
    await sleep(200)
    expect(table().isBeingWritten()).toBe(true)
    await run.kill()
    expect(handledOf(next)).toEqual([])
    expect(table().checkpoint()).toBe(before)
    table().change('DROP TRIGGER endless')
    start('consumer', 'follow')
    await untilHandled(next)
    expect(table().counts()[orgId]).toBe(first.length + next.length)
  })

  test('recognises an event that comes again', async () => {
    const published = await channel.publish(8, orgId)
    const run = start('consumer', 'follow')
    await untilHandled(published)
    await run.kill()
    // As after a restore of an older checkpoint.
    table().change('DELETE FROM checkpoint')
    start('consumer', 'follow')
    const later = await channel.publish(4, orgId)
    await untilHandled(later)
    expect(table().counts()[orgId]).toBe(published.length + later.length)
  })

  test('goes on after the event store was away', async () => {
    const published = await channel.publish(4, orgId)
    const run = start('consumer', 'follow')
    await untilHandled(published)
    await store.restart()
    const later = await channel.publish(4, orgId)
    await untilHandled(later)
    expect(table().counts()[orgId]).toBe(published.length + later.length)
    expect(run.output()).toContain('Error')
  })
})

describe('competing consumers', () => {
  const groupInfo = () => store.client.getPersistentSubscriptionToStreamInfo(channel.name, group)

  beforeEach(async () => {
    expect(await start('operator', 'group', 'create').ended).toBe(0)
  })

  test('share the events, each of which counts once although a consumer is killed', async () => {
    const consumers = [start('consumer', 'compete'), start('consumer', 'compete')]
    await waitFor('both consumers', async () => ((await groupInfo()).connections.length === 2 ? true : undefined))
    const published = await channel.publish(400, orgId)
    for (const run of consumers) await run.printed(/^handled/m)
    await consumers[0]?.kill()
    await untilHandled(published)
    expect(table().counts()[orgId]).toBe(published.length)
  })

  test('recognise an event that another consumer handled without an answer', async () => {
    const published = await channel.publish(4, orgId)
    await start('consumer', 'follow').printed(new RegExp(published.at(-1) ?? ''))
    const run = start('consumer', 'compete')
    await run.printed(new RegExp(`^handled .* ${published.at(-1)}$`, 'm'))
    expect(table().counts()[orgId]).toBe(published.length)
  })

  test('park an event that fails, go on with the others, and handle it when it is replayed', async () => {
    const run = start('consumer', 'compete')
    await untilHandled(await channel.publish(1))
    table().change(`CREATE TRIGGER bug BEFORE INSERT ON totals WHEN NEW.org_id = '${orgId}'
      BEGIN SELECT RAISE(ABORT, 'a bug'); END`)
    const failing = await channel.publish(2, orgId)
    await untilHandled(await channel.publish(20))
    await waitFor('the parked events', async () => {
      const { parkedMessageCount } = (await groupInfo()).stats
      return Number(parkedMessageCount) === failing.length ? true : undefined
    })
    expect(handledOf(failing)).toEqual([])
    for (const id of failing) expect(run.output().match(new RegExp(`(retry|park) ${id}`, 'g'))).toHaveLength(3)
    table().change('DROP TRIGGER bug')

    const refused = start('consumer', 'group', 'replay')
    expect(await refused.ended).toBe(1)
    expect(refused.output()).toContain('Access Denied')
    expect(await start('operator', 'group', 'replay').ended).toBe(0)
    await untilHandled(failing)
    expect(table().counts()[orgId]).toBe(failing.length)
  })
})

describe('run.sh', () => {
  test.each([
    [
      'without a platform',
      { EVENTSTORE_ADDRESS: '', PLATFORM_DATA_DIR: '/nowhere' },
      'cannot read /nowhere/credentials.json',
    ],
    ['without an account', { EVENTSTORE_LOGIN: '' }, 'needs EVENTSTORE_LOGIN'],
    ['without a certificate', { EVENTSTORE_CA_FILE: '/nowhere' }, 'needs EVENTSTORE_CA_FILE'],
  ])('names what is missing: %s', async (_case, env, message) => {
    const run = startExample('typescript-consumer', [], { ...channel.consumer, ...env })
    expect(await run.ended).toBe(2)
    expect(run.output()).toContain(message)
  })
})
