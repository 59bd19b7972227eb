import { expect, test } from 'vitest'
import { requireNoBody } from '../../../platform/http/no-body.ts'
import { Problem } from '../../../platform/http/problems.ts'

function errorsOf(body: unknown): unknown {
  try {
    requireNoBody(body)
  } catch (error) {
    if (error instanceof Problem) return error.errors
    throw error
  }
  return 'taken'
}

test('no body and {} are equal', () => {
  expect([errorsOf(undefined), errorsOf({})]).toEqual(['taken', 'taken'])
})

test('an error names an extra member; a body that is no object must be left out', () => {
  expect(errorsOf({ 'a/b': 1 })).toEqual([
    { pointer: '/a~1b', detail: 'is not a member of this request', code: 'unknown-member' },
  ])
  for (const body of [[], null, 'text', 1])
    expect(errorsOf(body)).toEqual([{ pointer: '', detail: 'must be left out, or be {}', code: 'type' }])
})
