import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import {
  breakingDifferences,
  changelogFile,
  currentContract,
  releasedContract,
  unreleasedPart,
} from '../../../tools/contract/documents.ts'

it('the present contract breaks nothing that was released, or the changelog lists it', async () => {
  const listed = unreleasedPart(await readFile(changelogFile, 'utf8'))
  const differences = breakingDifferences(await releasedContract(), await currentContract())
  expect(differences.filter((one) => !listed.includes(one))).toEqual([])
})

it('the released documents name no address of an installation', async () => {
  const { openApi, asyncApi } = await releasedContract()
  expect(openApi['servers']).toEqual([{ url: '/' }])
  expect(JSON.stringify([openApi, asyncApi])).not.toMatch(/localhost|127\.0\.0\.1|platform\.test/)
  expect(Object.keys(Object(openApi['paths'])).length).toBeGreaterThan(80)
})

it('the unreleased part of the changelog ends where the last release begins', () => {
  expect(unreleasedPart('# a\n\n## Unreleased\n\n- one\n\n## 0.1.0\n\n- two\n')).toBe('\n- one\n\n')
  expect(unreleasedPart('## Unreleased\n- one\n')).toBe('- one\n')
  expect(unreleasedPart('# a\n')).toBe('')
})
