import { expect, it } from 'vitest'
import { imageErrors } from '../../../commands/ai-review/image-addresses.ts'
import { parseEgressAllow } from '../../../platform/outbound/addresses.ts'
import { ids } from '../../streams/facts.ts'

const now = new Date('2026-03-01T10:00:00.000Z')
const rules = {
  outbound: { profile: 'production', allow: parseEgressAllow([]) },
  objectStores: ['https://objects.internal'],
  now,
} as const

function errorsAt(presignedUrl: string) {
  const image = {
    imageId: ids.image,
    imageType: 'DERMOSCOPIC',
    presignedUrl,
    presignedUrlExpiresAt: '2026-03-01T11:00:00.000Z',
  } as const
  return imageErrors([image], rules)
}

it.each(['https://images.test/a?signature=', 'https://objects.internal/bucket/a?X-Amz-Signature='])(
  'takes an address of 8,192 characters: %s',
  (start) => {
    expect(errorsAt(start.padEnd(8192, 'x'))).toEqual([])
  },
)

it('refuses a longer address and names the member', () => {
  expect(errorsAt('https://images.test/a?signature='.padEnd(8193, 'x'))).toMatchObject([
    { pointer: '/images/0/presignedUrl', code: 'too_long' },
  ])
})

it.each([
  ['nowhere', 'must be an absolute URL of visible ASCII characters'],
  ['http://images.test/a', 'must begin with https:// (in development http:// too)'],
  ['https://ada@images.test/a', 'must not contain a user name or a password'],
  ['https://images.test/a#b', 'must not contain a fragment'],
  ['https://10.0.0.1/a', 'must not lead to a private, local or reserved network address'],
])('the detail about %s names the rule, and repeats nothing of the address', (address, detail) => {
  expect(errorsAt(address)).toMatchObject([{ pointer: '/images/0/presignedUrl', detail }])
})
