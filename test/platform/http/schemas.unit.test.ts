import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { createSchemas } from '../../../platform/http/schemas.ts'

const page = () => Type.Object({ limit: Type.Integer() })

test('equal schemas share a validator, and what stands in an address is coerced where a body is taken as it is', () => {
  const { compileValidator } = createSchemas()
  const of = (httpPart: string, schema = page()) => compileValidator({ schema, httpPart, method: 'GET', url: '/' })
  expect(of('querystring')).toBe(of('params'))
  expect(of('body')).toBe(of('body'))
  expect(of('body')).not.toBe(of('querystring'))
  expect(of('querystring')).not.toBe(of('querystring', Type.Object({ limit: Type.Integer(), after: Type.String() })))
  expect([of('querystring')({ limit: '5' }), of('body')({ limit: '5' }), of('body')({ limit: 5 })]).toEqual([true, false, true])
})
