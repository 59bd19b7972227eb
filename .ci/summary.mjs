// What the JSON reports of vitest say. `files <report>` prints the files with something failed in them, `failures <title> <report>` what
// failed and why, `counts <report> <report of running the failed files again, or a file that is not there> <other result>…` the last
// line. `<other result>` is `passed` or `failed`.
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

/** A file that could not be loaded, or whose hooks failed, has no failed test: it counts as one. */
function failuresOf({ name, message, assertionResults }) {
  const path = relative(process.cwd(), name)
  const tests = assertionResults.filter((test) => test.status === 'failed')
  if (tests.length === 0) return [`${path}\n${message}`]
  return tests.map(({ fullName, failureMessages }) => `${path} > ${fullName}\n${failureMessages.join('\n')}`)
}

function counts([file, again, ...others]) {
  let passed = 0
  let failed = 1 // where there is no report: the type check or the linter ended it, or vitest itself did
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
    for (const name of new Set(failedFiles(rest[0]).map((file) => relative(process.cwd(), file.name)))) say(name)
    break
  case 'failures':
    for (const failure of failedFiles(rest[1]).flatMap(failuresOf))
      say(`${rest[0]}: ${firstLines(failure).trimStart()}`)
    break
  case 'counts':
    say(counts(rest))
    break
  default:
    throw new Error(`unknown command ${command}`)
}
