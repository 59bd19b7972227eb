import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const passing = 'test/passing.unit.test.ts'
const racing = 'test/racing.int.test.ts'
const broken = 'test/broken.int.test.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'summary-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A report of vitest with one test in each file. */
async function report(name: string, files: Readonly<Record<string, 'passed' | 'failed'>>): Promise<string> {
  const path = join(folder, name)
  const results = Object.entries(files).map(([file, status]) => ({
    name: join(root, file),
    status,
    message: '',
    assertionResults: [{ status, fullName: 'counts to three', failureMessages: status === 'failed' ? ['was 2'] : [] }],
  }))
  const numPassedTests = results.filter(({ status }) => status === 'passed').length
  await writeFile(path, JSON.stringify({ numPassedTests, testResults: results }))
  return path
}

function summary(...args: readonly string[]): string[] {
  const output = execFileSync(process.execPath, ['.ci/summary.mjs', ...args], { cwd: root, encoding: 'utf8' })
  return output.trimEnd().split('\n')
}

test('a file that fails at first and passes alone is named right above the counts', async () => {
  const first = await report('first', { [passing]: 'passed', [racing]: 'failed', [broken]: 'failed' })
  const again = await report('again', { [racing]: 'passed', [broken]: 'failed' })
  expect(summary('files', first)).toEqual([racing, broken])
  expect(summary('counts', again, first, 'passed')).toEqual([
    `failed at first, passed alone: ${racing}`,
    '3 passed, 1 failed',
  ])
})

test('without a second run the counts stand alone', async () => {
  const first = await report('first', { [passing]: 'passed', [broken]: 'failed' })
  expect(summary('counts', join(folder, 'missing'), first, 'passed', 'failed')).toEqual(['2 passed, 2 failed'])
})

test('the files of two reports are listed and counted together', async () => {
  const reports = [
    await report('short', { [passing]: 'passed', [racing]: 'failed' }),
    await report('long', { [broken]: 'failed' }),
  ]
  const again = await report('again', { [racing]: 'passed', [broken]: 'passed' })
  expect(summary('files', ...reports)).toEqual([racing, broken])
  expect(summary('counts', again, ...reports).at(-1)).toBe('3 passed, 0 failed')
  expect(summary('counts', join(folder, 'missing'), ...reports, 'passed').at(-1)).toBe('2 passed, 2 failed')
})

test('a run that ends without a report counts as one failure', () => {
  expect(summary('counts', join(folder, 'missing'), join(folder, 'missing too'), 'passed')).toEqual([
    '1 passed, 1 failed',
  ])
})

test('a failure is printed with its file, its test and its reason', async () => {
  const first = await report('first', { [passing]: 'passed', [broken]: 'failed' })
  expect(summary('failures', 'failed at first', first)).toEqual([
    `failed at first: ${broken} > counts to three`,
    '  was 2',
  ])
})
