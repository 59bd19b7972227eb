import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const source = readFileSync(new URL('../end-to-end/main-job/specification.e2e.test.ts', import.meta.url), 'utf8')

/** Prefixes of the titles of its tests, as written: `3.1 row 1`. */
const named = [...source.matchAll(/^test\((['"])([^:]+): /gm)].map(([, , section]) => section ?? '')

test('each row of 3.1 and 3.5, and each rule of 4.2, has one test with its name', () => {
  const rows = Array.from({ length: 5 }, (_, index) => `3.1 row ${index + 1}`)
  const rules = Array.from({ length: 10 }, (_, index) => `4.2 rule ${index + 1}`)
  expect(named.filter((section) => section !== '6')).toEqual([...rows, '3.1', '3.5', ...rules])
})

test('no such test is skipped', () => {
  expect(source).not.toMatch(/\b(?:test|it|describe)\.(?:skip|only|todo|skipIf|runIf|fails)\b/)
})
