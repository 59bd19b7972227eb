import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readsBothCasings } from '../../../platform/http/both-casings.ts'
import type { Service } from '../../../platform/http/service.ts'
import { startApplication, type TestApplication } from './test-application.ts'

const members = { snake: ['type_id', 'recorded_by'], camel: ['typeId', 'recordedBy'] } as const

/** Answers with the names of the members as its handler gets them. */
const echoing: Service = {
  prefix: 'consent',
  documentedAt: 'bare',
  mounts: ['bare'],
  routes(app) {
    for (const casing of ['snake', 'camel'] as const) {
      const [id, by] = members[casing]
      const body = Type.Object(
        { [id]: Type.String(), [by]: Type.Optional(Type.String()) },
        { additionalProperties: false },
      )
      const response = { 200: Type.Object({ given: Type.Array(Type.String()) }) }
      app.post(
        `/${casing}`,
        { schema: { body, response }, config: { access: 'public' }, preValidation: readsBothCasings(casing) },
        (request) => ({ given: Object.keys(request.body) }),
      )
    }
  },
}

let t: TestApplication
beforeAll(async () => {
  t = await startApplication({ services: [echoing] })
})
afterAll(() => t.app.close())

async function post(casing: string, payload: object): Promise<readonly [status: number, answer: unknown]> {
  const answer = await t.app.inject({ method: 'POST', url: `/v1/${casing}`, payload })
  const { given, errors } = answer.json<{ given?: unknown; errors?: { pointer: string; code: string }[] }>()
  return [answer.statusCode, given ?? errors?.map(({ pointer, code }) => `${code} ${pointer}`)]
}

describe.each(['snake', 'camel'] as const)('a body that the schema knows in %s case', (casing) => {
  it('is read in either casing, also member by member', async () => {
    const given = [200, members[casing]]
    expect(await post(casing, { type_id: 'a', recorded_by: 'b' })).toEqual(given)
    expect(await post(casing, { typeId: 'a', recordedBy: 'b' })).toEqual(given)
    expect(await post(casing, { type_id: 'a', recordedBy: 'b' })).toEqual(given)
  })

  it('is refused where a member stands in it twice, even with one value', async () => {
    expect(await post(casing, { type_id: 'a', typeId: 'a' })).toEqual([400, ['doubled /typeId']])
    expect(await post(casing, { typeId: 'a', type_id: 'b' })).toEqual([400, ['doubled /type_id']])
  })

  it('is still held against the schema', async () => {
    const [id] = members[casing]
    expect(await post(casing, {})).toEqual([400, [`required /${id}`]])
    expect(await post(casing, { typeId: 'a', other: 'b' })).toEqual([400, ['unknown-member /other']])
    expect(await post(casing, ['typeId'])).toEqual([400, ['type ']])
    expect(await post(casing, { typeId: 1, recorded_by: 2 })).toEqual([400, ['type /typeId', 'type /recorded_by']])
  })
})
