// Prints parts of the JSON reports of vitest. A missing report counts as one failure.
// `files <report>…` prints the files with a failure. `failures <title> <report>…` prints the failures and their reasons.
// `counts <report of the second run> <report>… <other result>…` prints the last lines: each file that failed only at first, then the
// counts. The second run may be missing. `<other result>` is `passed` or `failed`.
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const [command, ...rest] = process.argv.slice(2)

function say(line) {
  process.stdout.write(`${line}\n`)
}

function reportOf(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function failedFiles(files) {
  return files
    .filter((file) => existsSync(file))
    .flatMap((file) => reportOf(file).testResults)
    .filter(
      ({ status, assertionResults }) =>
        status === 'failed' || assertionResults.some((test) => test.status === 'failed'),
    )
}

function failedPaths(files) {
  return new Set(failedFiles(files).map(({ name }) => relative(process.cwd(), name)))
}

/** The files that failed in the whole run and passed alone. */
function flakyPaths(again, reports) {
  if (!existsSync(again)) return []
  const failedAgain = failedPaths([again])
  return [...failedPaths(reports)].filter((path) => !failedAgain.has(path))
}

/** A file that fails to load, or with failing hooks, contains no failed test. It counts as one failure. */
function failuresOf({ name, message, assertionResults }) {
  const path = relative(process.cwd(), name)
  const tests = assertionResults.filter((test) => test.status === 'failed')
  if (tests.length === 0) return [`${path}\n${message}`]
  return tests.map(({ fullName, failureMessages }) => `${path} > ${fullName}\n${failureMessages.join('\n')}`)
}

function counts(again, reports, others) {
  const first = failedFiles(reports).flatMap(failuresOf).length
  const failed = existsSync(again) ? failedFiles([again]).flatMap(failuresOf).length : first
  const existing = reports.filter((file) => existsSync(file))
  const passed = existing.reduce((sum, file) => sum + reportOf(file).numPassedTests, first - failed)
  // Without a report, the type check, the linter, a command or vitest itself ended the run.
  const missing = reports.length - existing.length
  const passedOthers = others.filter((other) => other === 'passed').length
  return `${passed + passedOthers} passed, ${failed + missing + others.length - passedOthers} failed`
}

function firstLines(text) {
  return text
    .split('\n')
    .slice(0, 25)
    .map((line) => `  ${line.slice(0, 300)}`)
    .join('\n')
}

const isResult = (argument) => ['passed', 'failed'].includes(argument)

switch (command) {
  case 'files':
    for (const path of failedPaths(rest)) say(path)
    break
  case 'failures':
    for (const failure of failedFiles(rest.slice(1)).flatMap(failuresOf))
      say(`${rest[0]}: ${firstLines(failure).trimStart()}`)
    break
  case 'counts': {
    const [again, ...others] = rest
    const reports = others.filter((argument) => !isResult(argument))
    for (const path of flakyPaths(again, reports)) say(`failed at first, passed alone: ${path}`)
    say(counts(again, reports, others.filter(isResult)))
    break
  }
  default:
    throw new Error(`unknown command ${command}`)
}
