import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { clearly } from '../../app/start-errors.ts'

test.each([
  ['53100', 'the server of DATABASE_URL has no room on its disk (53100)'],
  ['53300', 'the server of DATABASE_URL does not answer (53300)'],
  ['28P01', 'the server of DATABASE_URL does not admit its user with its password (28P01)'],
])('Postgres error %s names its server and the missing resource', async (code, message) => {
  const error = new DatabaseError('could not', 9, 'error')
  error.code = code
  await expect(clearly('DATABASE_URL', () => Promise.reject(error))).rejects.toThrow(message)
})
