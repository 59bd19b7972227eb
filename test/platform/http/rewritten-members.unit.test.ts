import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { lowerCaseIds, readsAddresses } from '../../../platform/http/rewritten-members.ts'
import { Nullable, Text, Uuid } from '../../../platform/http/members.ts'
import { mailAddressPattern } from '../../../platform/kit/mail-address.ts'

const upper = '0190B0A0-0000-7000-8000-00000000000A'
const lower = upper.toLowerCase()
const Body = Type.Object({
  name: Text(40),
  case_id: Type.Optional(Uuid),
  site: Type.Optional(Type.Object({ id: Uuid, label: Type.String() })),
  images: Type.Optional(Type.Array(Type.Object({ imageId: Uuid }))),
  tags: Type.Optional(Type.Array(Type.String())),
})

describe('the ids of a valid body', () => {
  const rewrite = lowerCaseIds(Body)

  it('are lower-cased at any depth, and nothing else is', () => {
    const given = { name: upper, case_id: upper, site: { id: upper, label: upper }, images: [{ imageId: upper }] }
    const rewritten = { name: upper, case_id: lower, site: { id: lower, label: upper }, images: [{ imageId: lower }] }
    expect(rewrite({ ...given, tags: [upper] })).toEqual({ ...rewritten, tags: [upper] })
  })

  it('are lower-cased in members that may be null', () => {
    const schema = Type.Object({ owner: Nullable(Uuid), site: Nullable(Type.Object({ id: Uuid })) })
    expect(lowerCaseIds(schema)({ owner: upper, site: { id: upper } })).toEqual({ owner: lower, site: { id: lower } })
    expect(lowerCaseIds(schema)({ owner: null, site: null })).toEqual({ owner: null, site: null })
  })

  it('may be left out, and the members keep their order', () => {
    expect(rewrite({ name: 'a' })).toStrictEqual({ name: 'a' })
    expect(JSON.stringify(rewrite({ case_id: upper, name: 'a' }))).toBe(JSON.stringify({ case_id: lower, name: 'a' }))
  })

  it('stay as they are in the given body', () => {
    const given = { name: 'a', case_id: upper, images: [{ imageId: upper }] }
    rewrite(given)
    expect(given).toEqual({ name: 'a', case_id: upper, images: [{ imageId: upper }] })
  })
})

it('a body without ids, or no body, is returned as it is', () => {
  const given = { name: upper }
  expect(lowerCaseIds(Type.Object({ name: Text(40) }))(given)).toBe(given)
  expect(lowerCaseIds(undefined)(undefined)).toBeUndefined()
})

describe('the addresses of a body, before validation', () => {
  const Address = Type.Object({ email: Type.Optional(Type.String({ pattern: mailAddressPattern })), name: Text(40) })
  const read = async (body: unknown) => {
    const request = { body } as FastifyRequest
    for (const hook of readsAddresses(Address)) await hook(request)
    return request.body
  }

  it('are brought into the form in which they are kept', async () => {
    const name = ' jane@b\u00fccher.example '
    expect(await read({ email: name, name })).toEqual({ email: 'jane@xn--bcher-kva.example', name })
  })

  it.each([[{ email: 'no address' }], [{ email: 7 }], [{}], [['jane@example.org']], ['text'], [null], [undefined]])(
    'are left to the validation in %j',
    async (body) => {
      expect(await read(body)).toStrictEqual(body)
    },
  )

  it('cost nothing where the schema has none', () => {
    expect(readsAddresses(Body)).toEqual([])
    expect(readsAddresses(undefined)).toEqual([])
  })
})
