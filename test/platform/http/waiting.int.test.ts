import { request as httpRequest } from 'node:http'
import { Type } from 'typebox'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answers } from '../../../platform/http/answers.ts'
import { answerWrite, found } from '../../../platform/http/replies.ts'
import type { Service } from '../../../platform/http/service.ts'
import { heldRecord, type Watch } from '../../../platform/http/waiting.ts'
import { startApplication, type TestApplication } from './test-application.ts'

interface Work {
  status: 'processing' | 'completed'
  revision: bigint
}

let work: Work
let looks: number
let onLook: (look: number) => void
let onAnswer: () => void
let isStopping: boolean
let watch: Watch
let t: TestApplication
let address: string

const Reply = Type.Object({ status: Type.String() }, { $id: 'WorkReply' })

/** A record that the test ends. */
const service: Service = {
  prefix: 'consent',
  documentedAt: 'bare',
  routes: (app) => {
    const look = async () => {
      looks += 1
      onLook(looks)
      return { ...work }
    }
    const isOver = ({ status }: Work) => status === 'completed'
    app.get(
      '/work',
      {
        schema: { operationId: 'getWork', response: answers({ 200: Reply }) },
        config: { access: 'token', hasEtag: true, takesWait: true },
      },
      async (_, reply) => {
        const { status, revision } = await heldRecord(reply, look, isOver)
        onAnswer()
        return found(reply, { body: { status }, revision })
      },
    )
    app.post(
      '/work',
      {
        schema: { operationId: 'startWork', response: answers({ 200: Reply }) },
        config: { access: 'token', takesWait: true, takesIfMatch: true },
      },
      async (_, reply) => {
        const { status, revision } = await app.waiting.hold(reply, look, isOver, (wake) => watch(wake))
        return answerWrite(reply, {
          status: 200,
          body: { status },
          readBy: [{ name: 'work', version: 1 }],
          position: { commit: 1n, prepare: 1n },
          revision,
        })
      },
    )
  },
}

beforeEach(async () => {
  work = { status: 'processing', revision: 3n }
  looks = 0
  onLook = () => undefined
  onAnswer = () => undefined
  isStopping = false
  watch = () => undefined
  t = await startApplication({ services: [service], isStopping: () => isStopping })
  address = await t.app.listen({ port: 0, host: '127.0.0.1' })
})
afterEach(() => t.app.close())

function end(): void {
  work = { status: 'completed', revision: 4n }
}

async function ask(headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(`${address}/v1/work`, { method, headers: { ...(await t.token()), ...headers } })
  const text = await response.text()
  return {
    status: response.status,
    applied: response.headers.get('preference-applied'),
    etag: response.headers.get('etag'),
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  }
}

const processing = { status: 200, etag: '"3"', body: { status: 'processing' } }
const completed = { status: 200, etag: '"4"', body: { status: 'completed' } }

describe('an answer with Prefer: wait', () => {
  it('is sent at once if the record is final, with Preference-Applied', async () => {
    end()
    expect(await ask({ prefer: 'wait=20' })).toEqual({ ...completed, applied: 'wait=20' })
    expect(looks).toBe(1)
  })

  it('is sent when the record becomes final', async () => {
    onLook = (look) => {
      if (look === 4) end()
    }
    expect(await ask({ prefer: 'wait=20' })).toEqual({ ...completed, applied: 'wait=20' })
    expect(looks).toBe(4)
  })

  it('looks as soon as it is woken, however often', async () => {
    let isWatched = false
    let wake = (): void => undefined
    watch = (woken) => {
      isWatched = true
      wake = woken
      return () => (isWatched = false)
    }
    // Unwoken, it looks once a second: that would be too slow for forty looks.
    onLook = (look) => {
      if (look === 40) end()
      setImmediate(wake)
    }
    expect(await ask({ prefer: 'wait=20' }, 'POST')).toMatchObject({ body: completed.body, applied: 'wait=20' })
    expect(looks).toBe(40)
    expect(isWatched).toBe(false)
  })

  it('is sent after the preferred time with the current record', async () => {
    onLook = (look) => {
      work.revision = BigInt(look)
    }
    const answer = await ask({ prefer: 'wait=1' })
    expect(answer).toMatchObject({ status: 200, applied: 'wait=1', body: processing.body })
    expect(looks).toBeGreaterThan(3)
    expect(answer.etag).toBe(`"${looks}"`)
  })

  it('waits 25 seconds at most, and reports that', async () => {
    onLook = (look) => {
      if (look === 2) end()
    }
    expect(await ask({ prefer: 'wait=9999' })).toEqual({ ...completed, applied: 'wait=25' })
  })

  it.each([undefined, 'wait=x', 'wait=0', 'wait=-1', 'wait', 'foo', ''])('does not wait for %s', async (prefer) => {
    expect(await ask(prefer === undefined ? {} : { prefer })).toEqual({ ...processing, applied: null })
    expect(looks).toBe(1)
  })

  it('contains the last known record if a later look fails', async () => {
    onLook = (look) => {
      if (look > 2) throw new Error('the database went away')
    }
    expect(await ask({ prefer: 'wait=20' })).toEqual({ ...processing, applied: 'wait=20' })
    expect(looks).toBe(3)
  })

  it('is an error if the first look fails', async () => {
    onLook = () => {
      throw new Error('the database is away')
    }
    expect(await ask({ prefer: 'wait=20' })).toMatchObject({ status: 500, applied: null })
    expect(looks).toBe(1)
  })

  it('ends when the server stops', async () => {
    onLook = (look) => {
      if (look === 3) isStopping = true
    }
    expect(await ask({ prefer: 'wait=20' })).toEqual({ ...processing, applied: 'wait=20' })
    expect(looks).toBe(3)
  })

  it('stops polling after its caller has disconnected', async () => {
    const asked = httpRequest(`${address}/v1/work`, { headers: { prefer: 'wait=20', ...(await t.token()) } })
    asked.on('error', () => undefined)
    const isHeld = new Promise<void>((resolve) => {
      onLook = (look) => {
        if (look === 2) resolve()
      }
    })
    asked.end()
    await isHeld
    const isOver = new Promise<void>((resolve) => {
      onAnswer = resolve
    })
    asked.destroy()
    await isOver
    // Twenty seconds would need about eighty looks.
    expect(looks).toBeLessThan(20)
  })

  it('delays only its own caller', async () => {
    const held = ask({ prefer: 'wait=20' })
    for (let time = 0; time < 20; time += 1) expect((await ask()).body).toEqual(processing.body)
    end()
    expect((await held).body).toEqual(completed.body)
  })

  it('answers immediately and ignores `Prefer: wait` when 50 requests of the client, or 200 in total, already wait', async () => {
    const asking = async (clientId: string) => ask({ prefer: 'wait=20', ...(await t.token({ clientId })) })
    const isHeld = (count: number) =>
      new Promise<void>((resolve) => {
        onLook = (look) => {
          if (look > count) resolve()
        }
      })
    const held = Array.from({ length: 50 }, () => asking('client-0'))
    await isHeld(60)
    expect(await asking('client-0')).toEqual({ ...processing, applied: null })
    for (const clientId of ['client-1', 'client-2', 'client-3'])
      held.push(...Array.from({ length: 50 }, () => asking(clientId)))
    looks = 0
    await isHeld(600)
    expect(await asking('client-4')).toEqual({ ...processing, applied: null })
    end()
    expect(
      (await Promise.all(held)).every(
        ({ applied, body }) => applied === 'wait=20' && JSON.stringify(body) === JSON.stringify(completed.body),
      ),
    ).toBe(true)
    for (const clientId of ['client-0', 'client-4']) expect((await asking(clientId)).applied).toBe('wait=20')
  })
})

describe('with If-None-Match', () => {
  it('waits for another version than the known one', async () => {
    onLook = (look) => {
      if (look === 3) work.revision = 8n
    }
    expect(await ask({ prefer: 'wait=20', 'if-none-match': '"3"' })).toEqual({
      ...processing,
      etag: '"8"',
      applied: 'wait=20',
    })
    expect(looks).toBe(3)
  })

  it('returns a version other than the known one at once', async () => {
    expect(await ask({ prefer: 'wait=20', 'if-none-match': '"2"' })).toEqual({ ...processing, applied: 'wait=20' })
    expect(looks).toBe(1)
  })

  it('answers 304 for the known version after the time, and at once if the record is final', async () => {
    expect(await ask({ prefer: 'wait=1', 'if-none-match': 'W/"3"' })).toEqual({
      status: 304,
      etag: '"3"',
      applied: 'wait=1',
      body: undefined,
    })
    end()
    looks = 0
    expect(await ask({ prefer: 'wait=20', 'if-none-match': '"4"' })).toMatchObject({ status: 304, applied: 'wait=20' })
    expect(looks).toBe(1)
  })
})

it('a write lists both applied preferences', async () => {
  end()
  expect((await ask({ prefer: 'respond-async, wait=5' }, 'POST')).applied).toBe('wait=5, respond-async')
  expect(t.waits).toEqual([])
})

it('the OpenAPI document lists the supported headers of a route, and 412 if it accepts If-Match', async () => {
  const document = (await t.app.inject({ url: '/openapi.json' })).json<{
    paths: Record<string, Record<string, { parameters?: { name: string }[]; responses: object }>>
  }>()
  const { get, post } = document.paths['/v1/work'] ?? {}
  expect(get?.parameters?.map(({ name }) => name)).toEqual(['if-none-match', 'prefer'])
  expect(post?.parameters?.map(({ name }) => name)).toEqual(['idempotency-key', 'if-match', 'prefer'])
  expect([
    Object.keys(get?.responses ?? {}).includes('412'),
    Object.keys(post?.responses ?? {}).includes('412'),
  ]).toEqual([false, true])
})
