import { randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answers } from '../../../platform/http/answers.ts'
import { tenantOf } from '../../../platform/http/access.ts'
import {
  createCursors,
  listQuery,
  page,
  pageMembers,
  pageRequest,
  type ListIdentity,
} from '../../../platform/http/cursors.ts'
import type { Service } from '../../../platform/http/service.ts'
import { orgA, orgB, startApplication, type TestApplication } from './test-application.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

let now = new Date('2030-01-01T00:00:00Z')
const cursors = createCursors({ key: randomBytes(32), now: () => now })
const numbers = Array.from({ length: 250 }, (_, index) => index)

const service: Service = {
  prefix: 'ai-review',
  documentedAt: 'bare',
  routes(app) {
    app.get(
      '/owners/:owner/numbers',
      {
        schema: {
          operationId: 'numbers',
          summary: 'Numbers',
          params: Type.Object({ owner: Type.String() }),
          querystring: Type.Object({ ...listQuery, parity: Type.Optional(Type.String()) }),
          response: answers(
            { 200: Type.Object({ data: Type.Array(Type.Integer()), ...pageMembers() }, { $id: 'Numbers' }) },
            ['invalid-cursor', 'expired-cursor'],
          ),
        },
        config: { access: 'token' },
      },
      async (request, reply) => {
        const { parity } = request.query
        const list: ListIdentity = {
          list: 'numbers',
          orgId: tenantOf(request.caller),
          sort: 'number',
          filters: { parity },
        }
        const asked = pageRequest(cursors, list, request.query)
        const matching = numbers.filter(
          (number) => (parity === undefined || number % 2 === 0) && number > Number(asked.after?.[0] ?? -1),
        )
        return page(reply, {
          cursors,
          list,
          found: { rows: matching.slice(0, asked.limit), hasMore: matching.length > asked.limit },
          placeOf: (row) => [row],
          toItem: (row) => row,
        })
      },
    )
  },
}

let t: TestApplication
beforeAll(async () => {
  t = await startApplication({ services: [service] })
})
afterAll(() => t.app.close())

interface Page {
  data: number[]
  next_cursor: string | null
  has_more: boolean
  code?: string
}

async function get(url: string, orgId = orgA) {
  const response = await t.app.inject({ url, headers: await t.token({ orgId }) })
  return { ...response.json<Page>(), status: response.statusCode, link: response.headers['link'] }
}

const path = '/v1/owners/me/numbers'

describe('a list', () => {
  it('is readable page by page to its end, by cursor or by link', async () => {
    const seen: number[] = []
    let next: string | undefined = `/v1/ai-review/owners/me/numbers?limit=120&parity=even`
    for (let pages = 0; next !== undefined && pages < 10; pages += 1) {
      const answer = await get(next)
      seen.push(...answer.data)
      expect(answer.has_more).toBe(answer.next_cursor !== null)
      next = /^<(\/v1\/owners\/me\/numbers\?[^>]+)>; rel="next"$/.exec(String(answer.link))?.[1]
    }
    expect(seen).toEqual(numbers.filter((number) => number % 2 === 0))
  })

  it('has 50 items by default, 200 at most, and refuses less than 1', async () => {
    expect((await get(path)).data).toHaveLength(50)
    expect((await get(`${path}?limit=1000`)).data).toHaveLength(200)
    expect((await get(`${path}?limit=0`)).code).toBe('validation-failed')
  })
})

describe('a cursor', () => {
  it('is valid for its list, filters and organisation only', async () => {
    const { next_cursor: cursor } = await get(path)
    expect((await get(`${path}?cursor=${cursor}`)).data[0]).toBe(50)
    expect((await get(`${path}?cursor=${cursor}&parity=even`)).code).toBe('invalid-cursor')
    expect((await get(`${path}?cursor=${cursor}`, orgB)).code).toBe('invalid-cursor')
  })

  it('is refused after a change of any character', () => {
    const list: ListIdentity = { list: 'x', orgId: tenantOfFact(orgA), sort: 'id', filters: {} }
    const cursor = cursors.seal(list, ['2030', 'id', null])
    expect(cursors.open(list, cursor)).toEqual(['2030', 'id', null])
    for (let index = 0; index < cursor.length; index += 1) {
      const changed = cursor.slice(0, index) + (cursor[index] === 'A' ? 'B' : 'A') + cursor.slice(index + 1)
      expect(() => cursors.open(list, changed)).toThrow(expect.objectContaining({ code: 'invalid-cursor' }))
    }
    expect(() => cursors.open(list, 'x')).toThrow(expect.objectContaining({ code: 'invalid-cursor' }))
    expect(() => cursors.open({ ...list, sort: 'name' }, cursor)).toThrow(
      expect.objectContaining({ code: 'invalid-cursor' }),
    )
  })

  it('expires after 7 days', async () => {
    const { next_cursor: cursor } = await get(path)
    now = new Date('2030-01-08T00:00:01Z')
    expect((await get(`${path}?cursor=${cursor}`)).code).toBe('expired-cursor')
    now = new Date('2030-01-01T00:00:00Z')
  })
})
