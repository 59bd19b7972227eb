import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { currentTypes } from '../../tools/client-types/current-types.ts'

it('the client has the types of the OpenAPI document (`npm run client:types` makes them)', async () => {
  const committed = await readFile(new URL('../../packages/client/api.ts', import.meta.url), 'utf8')
  // Without the two texts: a difference of thousands of lines takes minutes to print.
  expect(committed === (await currentTypes())).toBe(true)
})
