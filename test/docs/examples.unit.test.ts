import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { examplesOf, readDocument, typeErrors } from './examples.ts'

/** Documents in which every `ts` block must compile. */
const documents = ['streams/README.md', 'streams/store/README.md']

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'examples-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test('the examples of the guides compile', async () => {
  const examples = (await Promise.all(documents.map(readDocument))).flatMap(examplesOf)
  expect(examples.length).toBeGreaterThanOrEqual(documents.length)
  expect(await typeErrors(examples, folder)).toEqual([])
})

test('an error in an example is reported with its place', async () => {
  const planted = `<!-- example
import { consents } from './consent/aggregate.ts'
declare const id: string
-->

\`\`\`ts
export const target = consents.of(id, id)
\`\`\`

\`\`\`ts streams/planted/events.ts
import { defineEvents } from '../store/schema.ts'
\`\`\`
`
  const errors = await typeErrors(examplesOf({ path: 'streams/README.md', text: planted }), folder)
  expect(errors.join('\n')).toMatch(/streams\/example-1\.ts\(3,35\).*TenantId/)
  expect(errors.join('\n')).toMatch(/streams\/planted\/events\.ts\(1,10\).*defineEvents/)
})
