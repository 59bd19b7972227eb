import { describe, expect, it } from 'vitest'
import { etagOf, latest } from '../../../platform/http/replies.ts'
import { startApplication, thingId } from './test-application.ts'

describe('positions', () => {
  it('the latest of several appends is the one to wait for', () => {
    const early = { commit: 5n, prepare: 9n }
    const late = { commit: 7n, prepare: 1n }
    expect(latest(early, late)).toBe(late)
    expect(latest(late, undefined, early)).toBe(late)
    expect(latest(undefined)).toBeUndefined()
  })
})

describe('etags', () => {
  it('contain the revision, and the signing window if there is one', () => {
    expect([etagOf('no_stream'), etagOf(0n), etagOf(12n, 345)]).toEqual(['"-1"', '"0"', '"12.345"'])
  })

  it.each([
    [undefined, 200],
    ['*', 200],
    ['"3"', 200],
    ['"3.99"', 200],
    ['"3.99.018f0000-0000-7000-8000-00000000000a"', 200],
    ['"1", "3"', 200],
    ['"2"', 412],
    ['W/"3"', 412],
    ['3', 412],
  ])('If-Match %s answers %i', async (header, status) => {
    const t = await startApplication()
    const headers = { ...(await t.token()), ...(header === undefined ? {} : { 'if-match': header }) }
    const response = await t.app.inject({
      method: 'PUT',
      url: `/v1/things/${thingId}`,
      headers,
      payload: { name: 'x' },
    })
    expect([response.statusCode, response.headers.etag]).toEqual([status, status === 200 ? '"3"' : undefined])
    await t.app.close()
  })
})
