import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { at } from '../../../app/demo/members.ts'
import { rotateEventKey } from '../../../app/keys/rotate-event-key.ts'
import { runKeys } from '../../../app/keys/run.ts'
import { followErasures } from '../../../contracts/users/erasures.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { comparePositions } from '../../../platform/kit/positions.ts'
import { eventKeys } from '../../../streams/event-key/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { newContext } from '../../engine/store/fixtures.ts'
import { userFact } from '../../streams/user-facts.ts'
import { givenInstallation, type InstalledProcess } from '../../support/installation.ts'

const installation = givenInstallation()
const { startProcess } = installation

/** Appends the first event of another stream. */
async function say({ store }: InstalledProcess) {
  const target = users.of(randomUUID())
  await store.append(target, 'no_stream', [userFact('UserCreated', {})], newContext())
  return target.stream
}

async function eventsOf({ store }: InstalledProcess, stream: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of store.readStream(stream)) events.push(event)
  return events
}

const keyOf = async (process: InstalledProcess, stream: string) => (await eventsOf(process, stream))[0]?.metadata.key

test('under load, no append and no read fails while the key of event signatures is rotated twice in a row', async () => {
  const processes = await Promise.all([startProcess(), startProcess(), startProcess()])
  const [operator, , reader] = processes
  // Two of them follow the log, as the program does. The third one learns of new keys by what it reads.
  for (const { store, vault } of processes.slice(0, 2)) {
    const followed = followErasures({ store, vault, from: await store.head({ streamPrefixes: [] }) })
    installation.afterTest(() => followed.close())
  }
  const streams: string[] = []
  let isRotating = true
  const load = Promise.all(
    processes.map(async (process) => {
      for (let last = 0; last < 10; last += isRotating ? 0 : 1) {
        const stream = await say(process)
        streams.push(stream)
        expect(await eventsOf(reader, stream)).toHaveLength(1)
      }
    }),
  )
  const keys = [await rotateEventKey(operator, new Date()), await rotateEventKey(operator, new Date())]
  isRotating = false
  await load

  expect(new Set(keys).size).toBe(2)
  const late = await startProcess()
  const named = await Promise.all(streams.map((stream) => keyOf(late, stream)))
  expect(new Set(named)).toContain(undefined)
  expect(new Set(named)).toContain(keys[1])
  expect(await keyOf(late, await say(operator))).toBe(keys[1])
  const logged = await Promise.all(keys.map((key) => eventsOf(late, eventKeys.of(key).stream)))
  expect(logged.flat().map(({ data, metadata }) => [at(data, 'key'), metadata.key])).toEqual(
    keys.map((key) => [key, key]),
  )
  const ends = (await late.vault.eventKeys()).map(({ id, end }) => [id, end?.position])
  const [first, second] = logged.flat().map(({ position }) => position)
  expect(ends).toEqual([
    [keys[1], undefined],
    [keys[0], second],
    ['first', first],
  ])
})

test('an older key does not count for what is stored a minute behind its end', async () => {
  const [former, operator] = [await startProcess(), await startProcess()]
  const before = await say(former)
  await rotateEventKey(operator, new Date())
  // This process did not hear of the rotation. The event store's clock is not ours, so the end moves instead.
  const soon = await say(former)
  expect(await eventsOf(operator, soon)).toHaveLength(1)
  const [, older] = await operator.vault.eventKeys()
  const [event] = await eventsOf(operator, soon)
  if (older?.end === undefined || event === undefined) throw new Error('no older key')
  expect(comparePositions(event.position, older.end.position)).toBeGreaterThan(0)
  const early = { ...older.end, at: new Date(Date.parse(event.recordedAt) - 60_001) }
  const strict = await startProcess()
  strict.vault.eventKeys = async () =>
    (await operator.vault.eventKeys()).map((key) => (key.id === older.id ? { ...key, end: early } : key))
  await strict.store.refreshEventKeys()
  await expect(eventsOf(strict, soon)).rejects.toThrow('its signature does not match')
  expect(await eventsOf(strict, before)).toHaveLength(1)
})

test('a rotation that was cut off is completed by a repeat', async () => {
  const operator = await startProcess()
  const key = await operator.vault.rotateEventKey()
  const meanwhile = await startProcess()
  expect(await keyOf(operator, await say(meanwhile))).toBe(key)
  expect((await operator.vault.eventKeys())[1]?.end).toBeUndefined()

  const env = {
    DATABASE_URL: installation.database.url,
    VAULT_DATABASE_URL: installation.database.vaultUrl,
    MASTER_KEYS: installation.masterKeyText,
    ESDB_URL: installation.node.url,
  }
  let out = ''
  const output = { out: (text: string) => void (out += text), err: () => undefined, isInteractive: false }
  await runKeys({ action: 'rotate', purpose: 'event-signature' }, env, output)
  expect(at(JSON.parse(out), 'kid')).toBe(key)
  const listed = (await operator.vault.inventory()).keys.filter(({ purpose }) => purpose === 'event-signature')
  expect(listed.map(({ status }) => status)).toEqual(['signs', ...listed.slice(1).map(() => 'verifies')])
  expect((await operator.vault.eventKeys()).slice(1).every(({ end }) => end !== undefined)).toBe(true)
})
