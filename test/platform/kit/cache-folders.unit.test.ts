import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { cacheFolders } from '../../../platform/kit/cache-folders.ts'

const besidePackages = resolve(import.meta.dirname, '../../../node_modules/.cache/compiled')

test('the folder of the user comes after the one beside the packages', () => {
  expect(cacheFolders('compiled', () => '/home/anna')).toEqual([
    besidePackages,
    '/home/anna/.cache/clinical-assessment-platform/compiled',
  ])
})

test('a user without a name has no folder of their own', () => {
  const unnamed = () => {
    throw new Error('uv_os_homedir returned ENOENT')
  }
  expect(cacheFolders('compiled', unnamed)).toEqual([besidePackages])
})
