import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BatchAppendReq } from '@eventstore/db-client/generated/streams_pb.js'
import { describe, expect, test } from 'vitest'
import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  EventStoreFullError,
  EventStoreRefusedError,
  InvalidEventError,
  RevisionConflictError,
} from '../../../engine/store/errors.ts'
import { selfSignedCertificate } from 'embedded-eventstore/self-signed'
import { newContext, noted, openTestStore, RecordingLogger, until, visitCategory, type VisitEvent } from './fixtures.ts'
import { notLeader, ScriptedServer, unavailable, type AppendCall } from './scripted-server.ts'
import { accessDenied, appended, timedOut, tooLarge, wireEvent, withoutRoom, wrongVersion } from './wire-messages.ts'

const { catalogue, fold, stream } = visitCategory()
const quick = { catalogue, appendTimeoutMs: 100 }
const patient = { catalogue, appendTimeoutMs: 60_000 }

describe('a store without room', () => {
  test('is full until it reports room, whatever else it answers', async () => {
    let hasRoom = false
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => {
        if (number === 2) call.write(wrongVersion(request, 4))
        else if (number === 3) call.write(appended(request, 0, 10))
        else call.write(hasRoom ? appended(request, 0, 10) : withoutRoom(request))
      },
      onRead: (call) => call.end(),
    })
    await using store = await openTestStore({ ...patient, url: server.url })
    const append = () => store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())

    expect(await store.isFull()).toBe(false)
    expect(server.appends).toHaveLength(0)
    await expect(append()).rejects.toThrow(EventStoreFullError)
    await expect(append()).rejects.toThrow(RevisionConflictError)
    await append()
    expect(await store.isFull()).toBe(true)
    hasRoom = true
    expect(await store.isFull()).toBe(false)
    expect(server.appends.at(-1)).toMatchObject({ expected: 'any', ids: [] })
  })

  test('is full also if only a repeat of an append met that', async () => {
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => {
        if (number > 1) call.write(withoutRoom(request))
      },
    })
    await using store = await openTestStore({ ...quick, url: server.url, appendBudgetMs: 1_000 })

    await expect(store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).rejects.toThrow(
      AppendOutcomeUnknownError,
    )
    expect(await store.isFull()).toBe(true)
  })

  test('is checked with our timer, not the server’s clock, and a lost answer ends the check', async () => {
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => {
        if (number === 1) call.write(withoutRoom(request))
        if (number === 3) call.end()
      },
    })
    await using store = await openTestStore({ catalogue, appendTimeoutMs: 2_000, url: server.url })

    await expect(store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).rejects.toThrow(
      EventStoreFullError,
    )
    await expect(store.isFull()).rejects.toThrow('no answer in time')
    await expect(store.isFull()).rejects.toThrow()
    expect(server.appends.every(({ deadlineMs }) => deadlineMs > 3_600_000)).toBe(true)
  })
})

describe('appends to a server that misbehaves', () => {
  test('a transport error of another client does not affect the appends of this one', async () => {
    let late: (() => void) | undefined
    await using good = await ScriptedServer.start({
      onAppend: (request, call, number) => {
        const answer = () => call.write(appended(request, 0, 10))
        if (number === 1) late = answer
        else answer()
      },
    })
    await using bad = await ScriptedServer.start({ onAppend: (_, call) => unavailable(call) })
    await using ours = await openTestStore({ ...patient, url: good.url })
    await using theirs = await openTestStore({ ...patient, url: bad.url, appendBudgetMs: 1 })

    const appending = ours.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await until(() => late !== undefined)
    await expect(theirs.append({ fold, stream: stream() }, 'no_stream', [noted(2)], newContext())).rejects.toThrow(
      AppendOutcomeUnknownError,
    )

    late?.()
    expect(await appending).toEqual({ revision: 0n, position: { commit: 10n, prepare: 10n } })
    expect(good.appends).toHaveLength(1)
  })

  test('a late answer to an abandoned append does not end the process', async () => {
    const logger = new RecordingLogger()
    let late: (() => void) | undefined
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => {
        const answer = () => call.write(appended(request, 0, 10 * number))
        if (number === 1) late = answer
        else answer()
      },
    })
    await using store = await openTestStore({ catalogue, appendTimeoutMs: 1_000, url: server.url, logger })

    const slow = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await until(() => late !== undefined)
    // The node answers another append. So it is slow, and its connection is kept.
    await store.append({ fold, stream: stream() }, 'no_stream', [noted(2)], newContext())
    await slow
    late?.()
    await until(() => logger.lines.some((line) => line.includes('abandoned append')))

    expect(await store.append({ fold, stream: stream() }, 'no_stream', [noted(3)], newContext())).toHaveProperty(
      'revision',
    )
  })

  test('a silent server makes the append repeat with the same ids and revision after our own timer', async () => {
    await using server = await ScriptedServer.start({ onAppend: answerFrom(3) })
    await using store = await openTestStore({ ...quick, url: server.url })

    expect(await store.append({ fold, stream: stream() }, 7n, [noted(1), noted(2)], newContext())).toMatchObject({
      revision: 9n,
    })

    // On a busy machine our timer may also end the wait for the third answer.
    expect(server.appends.length).toBeGreaterThanOrEqual(3)
    expect(new Set(server.appends.map(({ expected }) => expected))).toEqual(new Set(['7']))
    expect(new Set(server.appends.map(({ ids }) => ids.join())).size).toBe(1)
    expect(server.appends[0]?.ids).toHaveLength(2)
  })

  test('a server that ends the append stream without an error makes the append repeat at once', async () => {
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => (number === 1 ? call.end() : call.write(appended(request, 0, 10))),
    })
    await using store = await openTestStore({ ...patient, url: server.url })

    expect(await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).toMatchObject({
      revision: 0n,
    })
    expect(server.appends).toHaveLength(2)
  })

  test('data that JSON cannot encode without loss is refused before the client gets it', async () => {
    await using server = await ScriptedServer.start({ onAppend: answerFrom(1) })
    await using store = await openTestStore({ ...patient, url: server.url })
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    const impossible = [{ room: 1n }, { room: 1, text: cycle }, { room: 2 ** 60 }, undefined]

    for (const data of impossible) {
      const event = { type: 'VisitNoted', data } as VisitEvent
      await expect(store.append({ fold, stream: stream() }, 'no_stream', [event], newContext())).rejects.toThrow(
        InvalidEventError,
      )
    }
    expect(server.appends).toHaveLength(0)
    expect(await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).toMatchObject({
      revision: 0n,
    })
  })

  test('a conflict contains the revision from the server', async () => {
    await using server = await ScriptedServer.start({
      onAppend: (request, call) => call.write(wrongVersion(request, 41)),
      onRead: (call) => call.end(),
    })
    await using store = await openTestStore({ ...patient, url: server.url })

    const appending = store.append({ fold, stream: stream() }, 3n, [noted(1)], newContext())
    await expect(appending).rejects.toThrow(RevisionConflictError)
    await expect(appending).rejects.toMatchObject({ expected: 3n, actual: 41n })
  })

  test('appends use the batch path, with credentials from the connection string', async () => {
    const tls = selfSignedCertificate(['127.0.0.1'])
    const folder = await mkdtemp(join(tmpdir(), 'certificate-'))
    const file = join(folder, 'ca.pem')
    await writeFile(file, tls.certificate)
    try {
      await using server = await ScriptedServer.start({ onAppend: answerFrom(1), tls })
      await using store = await openTestStore({
        ...patient,
        url: `${server.url.replace('://', '://admin:secret@')}&tlsCAFile=${file}`,
      })

      await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
      // The scripted server refuses the other path.
      expect(server.appends.map(({ authorization }) => authorization)).toEqual([
        `Basic ${Buffer.from('admin:secret').toString('base64')}`,
      ])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test('the deadline for the server outlasts a clock that is hours off', async () => {
    await using server = await ScriptedServer.start({ onAppend: answerFrom(1) })
    await using store = await openTestStore({ ...quick, url: server.url })
    const before = Date.now()

    await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    expect(server.appends[0]?.deadlineMs).toBeGreaterThan(before + 23 * 3_600_000)
  })

  test('a timeout that the server reports is an unknown outcome and is repeated', async () => {
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => call.write(number === 1 ? timedOut(request) : appended(request, 0, 10)),
    })
    await using store = await openTestStore({ ...patient, url: server.url })

    expect(await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).toMatchObject({
      revision: 0n,
    })
    expect(server.appends[1]).toMatchObject({ ids: server.appends[0]?.ids, expected: 'no_stream' })
  })

  test('an append is repeated if the server goes away half-way', async () => {
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => (number === 1 ? unavailable(call) : call.write(appended(request, 0, 10))),
    })
    await using store = await openTestStore({ ...patient, url: server.url })

    expect(await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).toMatchObject({
      revision: 0n,
    })
    expect(server.appends[1]?.ids).toEqual(server.appends[0]?.ids)
  })

  test('an append that a follower refused goes to the leader in its answer', async () => {
    await using leader = await ScriptedServer.start({ onAppend: answerFrom(1) })
    await using follower = await ScriptedServer.start({ onAppend: (_, call) => notLeader(call, leader.port) })
    await using store = await openTestStore({ ...patient, url: follower.url })

    expect(await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).toMatchObject({
      revision: 0n,
    })
    expect(leader.appends[0]).toMatchObject({ ids: follower.appends[0]?.ids, expected: 'no_stream' })
  })

  test('an append whose outcome stays unknown ends with that error', async () => {
    await using server = await ScriptedServer.start({})
    await using store = await openTestStore({ ...quick, url: server.url, appendBudgetMs: 250 })

    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await expect(appending).rejects.toThrow(AppendOutcomeUnknownError)
    await expect(appending).rejects.toMatchObject({ code: 'append-outcome-unknown' })
  })

  test('a refusal after a lost answer leaves the outcome unknown', async () => {
    await using server = await ScriptedServer.start({
      onAppend: (request, call, number) => void (number > 1 && call.write(accessDenied(request))),
    })
    await using store = await openTestStore({ ...quick, url: server.url, appendBudgetMs: 400 })

    await expect(store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).rejects.toThrow(
      AppendOutcomeUnknownError,
    )
  })

  test('a first refusal is reported as a refusal', async () => {
    await using server = await ScriptedServer.start({ onAppend: (request, call) => call.write(accessDenied(request)) })
    await using store = await openTestStore({ ...patient, url: server.url })

    await expect(store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).rejects.toThrow(
      EventStoreRefusedError,
    )
    expect(server.appends).toHaveLength(1)
  })

  test('after a conflict the append is a success if its own events are at its place', async () => {
    const name = stream()
    await using server = await ScriptedServer.start({
      onAppend: (request, call) => call.write(wrongVersion(request, 6)),
      onRead: (call) => {
        const ids = server.appends[0]?.ids ?? []
        ids.forEach((id, index) =>
          call.write(
            wireEvent({
              id,
              stream: name,
              type: 'VisitNoted',
              revision: 4 + index,
              position: 40 + index,
              data: '{}',
              metadata: '{}',
            }),
          ),
        )
        call.end()
      },
    })
    await using store = await openTestStore({ ...patient, url: server.url })

    const result = await store.append({ fold, stream: name }, 3n, [noted(1), noted(2)], newContext())
    expect(result).toEqual({ revision: 5n, position: { commit: 41n, prepare: 41n } })
    expect(server.reads[0]?.options?.stream?.revision).toBe('4')
  })

  test('an append over the limit is refused before it is sent', async () => {
    await using server = await ScriptedServer.start({ onAppend: answerFrom(1) })
    await using store = await openTestStore({ ...patient, url: server.url })
    const half = noted(1, 'x'.repeat(524_288))

    await expect(store.append({ fold, stream: stream() }, 'no_stream', [half, half], newContext())).rejects.toThrow(
      AppendTooLargeError,
    )
    expect(server.appends).toHaveLength(0)
  })

  test('a smaller limit of the server counts', async () => {
    await using server = await ScriptedServer.start({ onAppend: (request, call) => call.write(tooLarge(request)) })
    await using store = await openTestStore({ ...patient, url: server.url })

    await expect(store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).rejects.toThrow(
      AppendTooLargeError,
    )
  })

  test('every append contains an exact revision', async () => {
    await using server = await ScriptedServer.start({ onAppend: answerFrom(1) })
    await using store = await openTestStore({ ...patient, url: server.url })

    await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await store.append({ fold, stream: stream() }, 5n, [noted(1)], newContext())
    expect(server.appends.map(({ expected }) => expected)).toEqual(['no_stream', '5'])
  })
})

/** Stays silent until the nth request, then answers as a server that stored two events after revision 7. */
function answerFrom(first: number) {
  let rooms = 0
  return (request: BatchAppendReq, call: AppendCall, number: number) => {
    if (number < first) return
    const count = request.getProposedMessagesList().length
    const options = request.getOptions()
    const expected = options?.hasStreamPosition() === true ? Number(options.getStreamPosition()) : -1
    rooms += count
    call.write(appended(request, expected + count, 10 * rooms))
  }
}
