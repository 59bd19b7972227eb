// Prints parts of the JSON reports of vitest.
// `files <report>` prints the files with a failure. `failures <title> <report>` prints the failures and their reasons.
// `counts <report> <report of the second run> <other result>…` prints the last lines: each file that failed only at first, then the
// counts. The second report may be missing. `<other result>` is `passed` or `failed`.
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const [command, ...rest] = process.argv.slice(2)

function say(line) {
  process.stdout.write(`${line}\n`)
}

function failedFiles(file) {
  return JSON.parse(readFileSync(file, 'utf8')).testResults.filter(
    ({ status, assertionResults }) => status === 'failed' || assertionResults.some((test) => test.status === 'failed'),
  )
}

function failedPaths(file) {
  return new Set(failedFiles(file).map(({ name }) => relative(process.cwd(), name)))
}

/** The files that failed in the whole run and passed alone. */
function flakyPaths([first, again]) {
  if (!existsSync(first) || !existsSync(again)) return []
  const failedAgain = failedPaths(again)
  return [...failedPaths(first)].filter((path) => !failedAgain.has(path))
}

/** A file that fails to load, or with failing hooks, contains no failed test. It counts as one failure. */
function failuresOf({ name, message, assertionResults }) {
  const path = relative(process.cwd(), name)
  const tests = assertionResults.filter((test) => test.status === 'failed')
  if (tests.length === 0) return [`${path}\n${message}`]
  return tests.map(({ fullName, failureMessages }) => `${path} > ${fullName}\n${failureMessages.join('\n')}`)
}

function counts([file, again, ...others]) {
  let passed = 0
  let failed = 1 // without a report: the type check, the linter or vitest itself ended the run
  if (existsSync(file)) {
    const first = failedFiles(file).flatMap(failuresOf).length
    failed = existsSync(again) ? failedFiles(again).flatMap(failuresOf).length : first
    passed = JSON.parse(readFileSync(file, 'utf8')).numPassedTests + first - failed
  }
  const passedOthers = others.filter((other) => other === 'passed').length
  return `${passed + passedOthers} passed, ${failed + others.length - passedOthers} failed`
}

function firstLines(text) {
  return text
    .split('\n')
    .slice(0, 25)
    .map((line) => `  ${line.slice(0, 300)}`)
    .join('\n')
}

switch (command) {
  case 'files':
    for (const path of failedPaths(rest[0])) say(path)
    break
  case 'failures':
    for (const failure of failedFiles(rest[1]).flatMap(failuresOf))
      say(`${rest[0]}: ${firstLines(failure).trimStart()}`)
    break
  case 'counts':
    for (const path of flakyPaths(rest)) say(`failed at first, passed alone: ${path}`)
    say(counts(rest))
    break
  default:
    throw new Error(`unknown command ${command}`)
}
