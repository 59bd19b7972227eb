import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startVersionedBucket, type VersionedBucket } from '../../support/versioned-bucket.ts'

let bucket: VersionedBucket

beforeAll(async () => {
  bucket = await startVersionedBucket()
})
afterAll(() => bucket.close())

const modifiedAt = new Date('2027-03-01T10:00:00.000Z')
const version = (key: string, id: string, isMark = false) => ({ key, id, isMark, modifiedAt })
const other = version('images/other/a', 'v1')

beforeEach(() => {
  bucket.versions = [
    version('images/one/a', 'v1'),
    version('images/one/a', 'v2'),
    version('images/one/a', 'v3', true),
    version('images/one/b', 'v1', true),
    version('images/one/b', 'v2'),
    other,
  ]
})

test('every version and every mark of a deletion goes, of each object with the prefix and of no other', async () => {
  await bucket.objects.removeVersions('images/one/')
  expect(bucket.versions).toEqual([other])
})

test('a list has each object once with all its versions, page after page, and the marks of a deletion last', async () => {
  const found: unknown[] = []
  for await (const { key, versions } of bucket.objects.listVersions('images/')) {
    for (const one of versions) expect(one.modifiedAt).toEqual(modifiedAt)
    found.push([key, versions.map(({ id }) => id)])
  }
  expect(found).toEqual([
    ['images/one/a', ['v2', 'v1', 'v3']],
    ['images/one/b', ['v2', 'v1']],
    ['images/other/a', ['v1']],
  ])
})

test('a removal without a version only hides the object, and one with a version ends it', async () => {
  await bucket.objects.remove(other.key)
  expect(bucket.versions).toContainEqual(other)
  await bucket.objects.remove(other.key, other.id)
  expect(bucket.versions.filter(({ key }) => key === other.key)).toMatchObject([{ isMark: true }])
})
