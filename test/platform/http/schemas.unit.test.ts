import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { DistinctList } from '../../../platform/http/distinct-items.ts'
import { createSchemas } from '../../../platform/http/schemas.ts'

const page = () => Type.Object({ limit: Type.Integer() })

test('equal schemas share a validator; parts of an address are coerced, a body is not changed', () => {
  const { compileValidator } = createSchemas()
  const of = (httpPart: string, schema = page()) => compileValidator({ schema, httpPart, method: 'GET', url: '/' })
  expect(of('querystring')).toBe(of('params'))
  expect(of('body')).toBe(of('body'))
  expect(of('body')).not.toBe(of('querystring'))
  expect(of('querystring')).not.toBe(of('querystring', Type.Object({ limit: Type.Integer(), after: Type.String() })))
  expect([of('querystring')({ limit: '5' }), of('body')({ limit: '5' }), of('body')({ limit: 5 })]).toEqual([
    true,
    false,
    true,
  ])
})

test('a whole number of an address has decimal digits only', () => {
  const { compileValidator } = createSchemas()
  const validate = compileValidator({ schema: page(), httpPart: 'querystring', method: 'GET', url: '/' })
  expect(['0', '5', '-5', '007'].map((limit) => validate({ limit }))).toEqual([true, true, true, true])
  for (const limit of ['1e2', '0x10', '0b1', '+5', ' 5', '5 ', '5.0', '5.', '٥', '', 'NaN']) {
    expect([limit, validate({ limit })]).toEqual([limit, false])
    expect(validate.errors).toEqual([expect.objectContaining({ instancePath: '/limit', keyword: 'type' })])
  }
})

test('a distinct list has no equal items, whatever the order of their members', () => {
  const list = DistinctList(Type.Object({ a: Type.Integer(), b: Type.Optional(Type.Integer()) }), { maxItems: 3 })
  const validate = createSchemas().compileValidator({
    schema: Type.Object({ list }),
    httpPart: 'body',
    method: 'POST',
    url: '/',
  })
  expect(validate({ list: [{ a: 1, b: 2 }, { a: 2, b: 1 }, { a: 1 }] })).toBe(true)
  expect(
    validate({
      list: [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    }),
  ).toBe(false)
  expect(validate.errors).toEqual([expect.objectContaining({ instancePath: '/list', keyword: 'uniqueItems' })])
  expect(validate({ list: [{ a: 1 }, { a: 1 }, { a: 1 }, { a: 1 }] })).toBe(false)
  expect(validate.errors).toContainEqual(expect.objectContaining({ instancePath: '/list', keyword: 'maxItems' }))
})

test('for a large value only the first error is reported, and items beyond maxItems are not checked', () => {
  let looks = 0
  const watched = new Proxy(
    {},
    {
      get: () => {
        looks += 1
      },
    },
  )
  const schema = Type.Object({ list: DistinctList(Type.Object({ a: Type.Integer() }), { maxItems: 3 }) })
  const validate = createSchemas().compileValidator({ schema, httpPart: 'body', method: 'POST', url: '/' })
  expect(validate({ list: Array.from({ length: 2000 }, () => watched) })).toBe(false)
  expect([validate.errors?.map(({ keyword }) => keyword), looks]).toEqual([['maxItems'], 0])
  expect(validate({ list: Array.from({ length: 20 }, () => ({ a: '' })) })).toBe(false)
  expect(validate.errors?.length).toBeGreaterThan(20)
})
