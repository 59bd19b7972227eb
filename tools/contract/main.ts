import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { contractVersion } from '../../platform/http/common-headers.ts'
import {
  breakingDifferences,
  changelogFile,
  currentContract,
  releasedContract,
  releasedFolder,
  unlisted,
  unreleasedPart,
} from './documents.ts'
import { compareWithOasdiff } from './oasdiff.ts'

const usage = `What callers were promised: the documents in released/.

  npm run contract:check     names each difference that breaks a caller of the released version
  npm run contract:oasdiff   lists where oasdiff, which it builds with Go, judges otherwise
  npm run contract:release   makes the present documents the released ones, and begins a new part of CHANGELOG.md
`

const [command] = process.argv.slice(2)
if (command === 'check') await check()
else if (command === 'release') await release()
else if (command === 'oasdiff') await oasdiff()
else process.stdout.write(usage)

async function check(): Promise<void> {
  const differences = breakingDifferences(await releasedContract(), await currentContract())
  const missing = unlisted(differences, unreleasedPart(await readFile(changelogFile, 'utf8')))
  for (const one of differences) process.stdout.write(`${missing.includes(one) ? 'BREAKS' : 'listed'} - ${one}\n`)
  process.stdout.write(`${differences.length} breaking, ${missing.length} of them not in CHANGELOG.md\n`)
  process.exitCode = missing.length === 0 ? 0 : 1
}

async function oasdiff(): Promise<void> {
  try {
    await compareWithOasdiff()
  } catch (error) {
    process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

async function release(): Promise<void> {
  const current = await currentContract()
  await mkdir(releasedFolder, { recursive: true })
  const write = (name: string, document: object) =>
    writeFile(new URL(name, releasedFolder), `${JSON.stringify(document, null, 1)}\n`)
  await write('openapi.json', current.openApi)
  await write('asyncapi.json', current.asyncApi)
  const changelog = await readFile(changelogFile, 'utf8')
  const today = new Date().toISOString().slice(0, 10)
  await writeFile(
    changelogFile,
    changelog.replace('## Unreleased\n', `## Unreleased\n\nNothing yet.\n\n## ${contractVersion} (${today})\n`),
  )
  process.stdout.write(`released ${contractVersion}: ${Object.keys(Object(current.openApi['paths'])).length} paths\n`)
}
