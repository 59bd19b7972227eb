import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { problemCodes } from '../../contracts/operations/record.ts'

it('the guide for operators has a heading for each problem, and for no other', async () => {
  const guide = await readFile(fileURLToPath(new URL('../../docs/operating.md', import.meta.url)), 'utf8')
  const [, problems = ''] = guide.split('\n## Problems\n')
  const headings = [...problems.matchAll(/^### (.+)$/gm)].map(([, heading = '']) => heading)
  expect(headings.toSorted()).toEqual([...problemCodes].toSorted())
})
