import { BACKWARDS, END } from '@eventstore/db-client'
import { describe, expect, test } from 'vitest'
import { channel, ConsumerNode, first, foreign, noted, outcome, patient } from './consumer-node.ts'

const consumers = ConsumerNode.ofThisFile()
const as = (login: string, password?: string) => consumers.as(login, password)

/** Data of the newest metadata of a stream. */
async function metadataOf(stream: string): Promise<unknown> {
  return (await as('platform').getStreamMetadata(stream)).metadata
}

describe('after a restart', () => {
  test('an account that is no longer named is gone, and a new password counts', async () => {
    await consumers.stop()
    await consumers.start(['lab'])
    expect(await outcome(first(as('billing').readStream(channel)))).toBe('denied')
    expect(await outcome(first(as('lab').readStream(channel)))).toBe('granted')
    const settled = await metadataOf(channel)
    const newest = async () =>
      first(as('platform').readStream(`$$${channel}`, { direction: BACKWARDS, fromRevision: END, maxCount: 1 }))
    const before = await newest()
    expect(before).toBeDefined()
    await consumers.stop()
    const former = consumers.passwords['lab'] ?? ''
    const changed = `${former}-changed`
    consumers.passwords['lab'] = changed
    await consumers.start(['lab'])
    expect(await outcome(first(as('lab', former).readStream(channel)))).toBe('denied')
    expect(await outcome(first(as('lab').readStream(channel)))).toBe('granted')
    expect(await metadataOf(channel)).toEqual(settled)
    expect(await newest()).toEqual(before)
  })

  test('a foreign channel keeps the writers that an operator named, and other members of metadata stay', async () => {
    const roles = { readRoles: ['$admins', 'platform'], writeRoles: ['lab'], metaWriteRoles: ['steward'] }
    await as('platform').setStreamMetadata(foreign, { maxCount: 1_000, note: 'kept', acl: roles })
    await as('platform').setStreamMetadata(channel, {
      note: 'kept',
      acl: { readRoles: ['nobody'], writeRoles: ['lab'] },
    })
    await consumers.stop()
    consumers.passwords['billing'] = 'a new password of billing'
    await consumers.start(['lab', 'billing'])
    const owners = ['$admins', 'platform']
    expect(await metadataOf(foreign)).toEqual({
      maxCount: 1_000,
      note: 'kept',
      acl: {
        readRoles: owners,
        writeRoles: [...owners, 'lab'],
        deleteRoles: owners,
        metaReadRoles: owners,
        metaWriteRoles: [...owners, 'steward'],
      },
    })
    expect(await metadataOf(channel)).toMatchObject({
      note: 'kept',
      acl: { readRoles: [...owners, 'consumers'], writeRoles: owners },
    })
    expect(await outcome(as('lab').appendToStream(foreign, noted(3)))).toBe('granted')
    expect(await outcome(as('billing').appendToStream(foreign, noted(3)))).toBe('denied')
  })

  test('without consumers only the platform is left', async () => {
    await consumers.stop()
    await consumers.start([])
    for (const login of ['lab', 'billing']) expect(await outcome(first(as(login).readStream(channel)))).toBe('denied')
    expect(await outcome(first(as('platform').readAll()))).toBe('granted')
  })

  test('a stream of the platform as foreign channel is refused before anybody may write to it', async () => {
    await consumers.stop()
    await expect(consumers.start(['lab'], patient)).rejects.toThrow(`FOREIGN_CHANNELS must not contain ${patient}`)
    await consumers.start(['lab'])
    expect(await outcome(as('lab').appendToStream(patient, noted(9)))).toBe('denied')
  })
})
