import { beforeAll, expect, test } from 'vitest'
import { compiledDocuments, examplesOf, readDocument, typeErrors, type Example } from './examples.ts'

const planted = `<!-- example
import { consents } from '../consent/aggregate.ts'
declare const id: string
-->

\`\`\`ts
export const target = consents.of(id, id)
\`\`\`

\`\`\`ts streams/planted/events.ts
import { defineEvents } from '../../engine/store/schema.ts'
\`\`\`
`

let examples: Example[]
let plantedErrors: string[]
let otherErrors: string[]

// The type checker reads the whole program. One run checks the examples and the planted mistakes.
beforeAll(async () => {
  examples = (await Promise.all(compiledDocuments.map(readDocument))).flatMap(examplesOf)
  const mistakes = examplesOf({ path: 'streams/planted/README.md', text: planted })
  // The checker indents the lines that explain an error.
  const errors = (await typeErrors([...examples, ...mistakes])).filter((line) => !line.startsWith(' '))
  const isPlanted = (error: string) => error.includes('/streams/planted/')
  plantedErrors = errors.filter(isPlanted)
  otherErrors = errors.filter((error) => !isPlanted(error))
})

test('the examples of the guides compile', () => {
  expect(examples.length).toBeGreaterThanOrEqual(compiledDocuments.length)
  expect(otherErrors).toEqual([])
})

test('an example with a mistake is reported with its place', () => {
  expect(plantedErrors).toEqual([
    expect.stringMatching(/streams\/planted\/events\.ts\(1,10\).*defineEvents/),
    expect.stringMatching(/streams\/planted\/example-1\.ts\(3,35\).*TenantId/),
  ])
})
