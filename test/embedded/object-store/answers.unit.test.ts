import { expect, test } from 'vitest'
import { conditionsHold, requestedRange } from '../../../embedded/object-store/conditions.ts'
import { S3Error } from '../../../embedded/object-store/errors.ts'
import { errorDocument, listResult } from '../../../embedded/object-store/xml.ts'

test.each([
  [undefined, undefined],
  ['bytes=0-9', { first: 0, last: 9 }],
  ['bytes=90-', { first: 90, last: 99 }],
  ['bytes=90-500', { first: 90, last: 99 }],
  ['bytes=-10', { first: 90, last: 99 }],
  ['bytes=-500', { first: 0, last: 99 }],
  ['bytes=1-2,5-6', undefined],
  ['lines=1-2', undefined],
])('of 100 bytes, the range %s is %o', (header, expected) => {
  expect(requestedRange(header, 100)).toEqual(expected)
})

test.each(['bytes=100-', 'bytes=9-3', 'bytes=-0'])('refuses the range %s of 100 bytes', (header) => {
  expect(() => requestedRange(header, 100)).toThrow(S3Error)
})

test.each([
  ['"abc"', undefined, true, true],
  ['abc, def', undefined, true, true],
  ['"x"', undefined, false, true],
  [undefined, '*', true, false],
  [undefined, 'W/"abc"', true, false],
  ['*', '"x"', true, true],
])('for the ETag abc, if-match %s and if-none-match %s hold as %s, %s', (match, noneMatch, matches, noneMatches) => {
  expect(conditionsHold('abc', { match, noneMatch })).toEqual({ match: matches, noneMatch: noneMatches })
})

test('escapes client input in XML', () => {
  const error = errorDocument(new S3Error('NoSuchKey', 'gone'), '/b/<k>&"', 'id')
  const page = {
    bucket: 'b',
    prefix: '<p>',
    maxKeys: 1,
    objects: [],
    token: undefined,
    nextToken: undefined,
    urlEncoded: false,
  }

  expect(error).toContain('<Resource>/b/&lt;k&gt;&amp;&quot;</Resource>')
  expect(listResult(page)).toContain('<Prefix>&lt;p&gt;</Prefix>')
})
