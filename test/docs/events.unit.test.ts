import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FailureCode } from '../../streams/assessment/events.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { envelope } from '../../engine/aggregates/channel-stream.ts'

const page = readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8')

/** Names in code marks. */
const codes = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '')

test('the page lists exactly the events of all channels, with version and payload', () => {
  const documented = page
    .split('\n')
    .filter((line) => /^\| `[a-z_]+\.[a-z_.]+` \|/.test(line))
    .map((line) => {
      const [type = '', version = '', channel = '', payload = ''] = line.slice(2).split(' | ')
      return [...codes(type), version, ...codes(channel), codes(payload)]
    })
  const published = catalogue.types.flatMap((type) => {
    const entry = catalogue.entry(type)
    if (entry === undefined || !entry.category.endsWith('.events')) return []
    const { properties = {}, required = [] } = entry.definition.schema as {
      readonly properties?: object
      readonly required?: readonly string[]
    }
    const payload = Object.keys(properties)
      .filter((member) => !(member in envelope))
      .map((member) => (required.includes(member) ? member : `${member}?`))
    return [[type, String(entry.definition.version), entry.category, payload]]
  })
  expect(documented).toEqual(published)
})

test('the page lists the members of the envelope', () => {
  const [, listed = ''] = /and the envelope:([^:]*)\. Members/s.exec(page) ?? []
  expect(codes(listed)).toEqual(Object.keys(envelope))
})

test('the page lists the codes of failures, and marks the reserved one', () => {
  const [, listed = '', reserved = ''] = /\*\*`error_code`\*\* is null, or one of ([^.]*)\.(.*?)\n- /s.exec(page) ?? []
  expect(codes(listed)).toEqual([...FailureCode.enum])
  expect(codes(reserved)).toEqual(['IMAGE_UNREADABLE'])
})
