import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const cwd = fileURLToPath(new URL('../../deploy/observability', import.meta.url))

/** Exit code 1: something is wrong. 2: it could not be checked. */
function check(args: readonly string[]): number {
  const { status, error } = spawnSync('promtool', args, { cwd, stdio: 'inherit' })
  if (error === undefined) return status === 0 ? 0 : 1
  process.stderr.write(
    'alerts:check: no promtool on PATH, so nothing was checked. Debian has it in the package prometheus\n',
  )
  return 2
}

interface Board {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}

/** The expressions of the panels as rules, because promtool reads no dashboards. */
async function panelRules(): Promise<string> {
  const names = await readdir(join(cwd, 'dashboards'))
  const boards = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(cwd, 'dashboards', name), 'utf8')) as Board),
  )
  const expressions = boards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)))
  const rules = expressions.map((expr, place) => ({ record: `panel_${place}`, expr }))
  return JSON.stringify({ groups: [{ name: 'panels', rules }] })
}

const folder = await mkdtemp(join(tmpdir(), 'alerts-check-'))
const panels = join(folder, 'panels.json')
await writeFile(panels, await panelRules())
let code = 0
for (const args of [
  ['check', 'config', 'prometheus.yml'],
  ['check', 'rules', panels],
  ['test', 'rules', 'alerts.test.yml'],
])
  if (code === 0) code = check(args)
await rm(folder, { recursive: true })
process.exitCode = code
