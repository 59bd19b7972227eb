import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { breaking, changed, compatible, openApi } from '../../test/tools/contract/planted-differences.ts'
import { openApiDifferences } from './differences.ts'
import { currentContract, releasedContract } from './documents.ts'
import type { JsonObject } from './json.ts'

const version = 'v1.37.0'
const run = promisify(execFile)
/** Beside the packages: nothing of it is in the repository. */
const binFolder = fileURLToPath(new URL('../../node_modules/.cache/oasdiff', import.meta.url))

interface Finding {
  readonly text: string
  readonly operation?: string
  readonly path?: string
}
type Judge = (released: JsonObject, current: JsonObject) => Promise<readonly Finding[]>

/** Lists where oasdiff and our check differ about the present document, and about the planted differences. */
export async function compareWithOasdiff(): Promise<void> {
  const program = await install()
  const folder = await mkdtemp(join(tmpdir(), 'oasdiff-'))
  const [before, after] = [join(folder, 'released.json'), join(folder, 'current.json')]
  const judge: Judge = async (released, current) => {
    await Promise.all([writeFile(before, JSON.stringify(released)), writeFile(after, JSON.stringify(current))])
    const { stdout } = await run(program, ['breaking', before, after, '--flatten-allof', '--format', 'json'], {
      maxBuffer: 2 ** 28,
    })
    return JSON.parse(stdout.trim() || '[]')
  }
  try {
    await listPresent(judge)
    await listPlanted(judge)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function install(): Promise<string> {
  // No other toolchain is fetched for it, and its build is not stamped with this repository.
  const env = { ...process.env, GOBIN: binFolder, GOTOOLCHAIN: 'local', GOFLAGS: '-buildvcs=false' }
  try {
    await run('go', ['install', `github.com/oasdiff/oasdiff@${version}`], { env })
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    throw new Error(
      isMissing
        ? 'This needs Go 1.26 or later as `go`, with access to the Go module proxy.'
        : `oasdiff ${version} could not be built: ${String(error)}`,
      { cause: error },
    )
  }
  return join(binFolder, process.platform === 'win32' ? 'oasdiff.exe' : 'oasdiff')
}

async function listPresent(judge: Judge): Promise<void> {
  const [{ openApi: released }, { openApi: current }] = [await releasedContract(), await currentContract()]
  const theirs = await judge(released, current)
  const ours = openApiDifferences({ released, current })
  const operationOf = (finding: Finding) => `${finding.operation} ${finding.path}`
  const isOurs = new Set(ours.map(({ where }) => where.split(' ', 2).join(' ')))
  const isTheirs = new Set(theirs.map(operationOf))
  show(`present document: ${theirs.length} findings of oasdiff, ${ours.length} of contract:check`)
  const onlyTheirs = Map.groupBy(
    theirs.filter((finding) => !isOurs.has(operationOf(finding))),
    ({ text }) => text.replace(/ for (?:the )?status .*| for the response status .*/, ''),
  )
  for (const [text, found] of onlyTheirs)
    show(`  only oasdiff: ${text} (${new Set(found.map(operationOf)).size} operations)`)
  for (const { where, what } of ours.filter(({ where: place }) => !isTheirs.has(place.split(' ', 2).join(' '))))
    show(`  only contract:check: ${where}: ${what}`)
}

async function listPlanted(judge: Judge): Promise<void> {
  const found = async (
    differences: readonly (readonly [string, string, Parameters<typeof changed>[2], ...unknown[]])[],
  ) => {
    const all: { readonly what: string; readonly findings: readonly Finding[] }[] = []
    for (const [what, path, value] of differences)
      all.push({ what, findings: await judge(openApi, changed(openApi, path, value)) })
    return all
  }
  const missed = (await found(breaking)).filter(({ findings }) => findings.length === 0)
  const refused = (await found(compatible)).filter(({ findings }) => findings.length > 0)
  show(`planted: oasdiff names ${breaking.length - missed.length} of ${breaking.length} breaking differences`)
  for (const { what } of missed) show(`  only contract:check: ${what}`)
  show(`planted: oasdiff names ${refused.length} of ${compatible.length} compatible differences`)
  for (const { what, findings } of refused) show(`  only oasdiff: ${what}: ${findings[0]?.text}`)
}

function show(line: string): void {
  process.stdout.write(`${line}\n`)
}
