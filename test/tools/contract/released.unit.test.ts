import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import {
  breakingDifferences,
  changelogFile,
  currentContract,
  releasedContract,
  unlisted,
  unreleasedPart,
} from '../../../tools/contract/documents.ts'

it('the present contract breaks nothing that was released, or the changelog lists it', async () => {
  const differences = breakingDifferences(await releasedContract(), await currentContract())
  expect(unlisted(differences, unreleasedPart(await readFile(changelogFile, 'utf8')))).toEqual([])
})

it('the released documents name no address of an installation', async () => {
  const { openApi, asyncApi } = await releasedContract()
  expect(openApi['servers']).toEqual([{ url: '/' }])
  expect(JSON.stringify([openApi, asyncApi])).not.toMatch(/localhost|127\.0\.0\.1|platform\.test/)
  expect(Object.keys(Object(openApi['paths'])).length).toBeGreaterThan(80)
})

it('a difference is listed by a line of its own, and by nothing longer or shorter', () => {
  const part = '\n- GET /a: is gone\n- GET /things 200 size: is gone\nGET /b: is gone\n'
  const differences = [
    'GET /a: is gone',
    'GET /a: is',
    'GET /things 200 siz',
    'GET /b: is gone',
    'things 200 size: is gone',
  ]
  expect(unlisted(differences, part)).toEqual(differences.slice(1))
  expect(unlisted([], part)).toEqual([])
})

it('the unreleased part of the changelog ends where the last release begins', () => {
  expect(unreleasedPart('# a\n\n## Unreleased\n\n- one\n\n## 0.1.0\n\n- two\n')).toBe('\n- one\n\n')
  expect(unreleasedPart('## Unreleased\n- one\n')).toBe('- one\n')
  expect(unreleasedPart('# a\n')).toBe('')
})
