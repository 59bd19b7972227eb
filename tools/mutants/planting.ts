import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Catcher, Mutant } from './mutant.ts'
import { escaped, planted } from './places.ts'

const run = promisify(execFile)
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Results of one test run, by full test name. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly message?: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

/** Result of one test. `broken`: it failed for another reason than its own assertion. */
export type Ending =
  | { readonly kind: 'passed' | 'missing' }
  | { readonly kind: 'failed' | 'broken'; readonly message: string }

/** Links the installed packages. Those of the checkout itself are the copies, because faults are planted there. */
async function linkModules(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  for (const entry of await readdir(join(root, 'node_modules'), { withFileTypes: true })) {
    const installed = join(root, 'node_modules', entry.name)
    const target = entry.isSymbolicLink() ? await readlink(installed) : installed
    await symlink(target, join(modules, entry.name))
  }
}

/** A copy of the checkout, as it is on disk, in its own folder. Faults do no harm there. */
export class Clone {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async make(): Promise<Clone> {
    const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      maxBuffer: 64 << 20,
    })
    const folder = await mkdtemp(join(tmpdir(), 'mutants-'))
    for (const file of stdout.split('\0').filter((name) => name !== '' && name !== 'node_modules')) {
      await mkdir(join(folder, dirname(file)), { recursive: true })
      // A deleted file that is still in the index has nothing to copy.
      await cp(join(root, file), join(folder, file)).catch(() => undefined)
    }
    await linkModules(folder)
    return new Clone(folder)
  }

  /** Runs `work` with the fault of the mutant in place. */
  async withFault<Result>(mutant: Mutant, work: () => Promise<Result>): Promise<Result> {
    const path = join(this.folder, mutant.file)
    const text = await readFile(path, 'utf8')
    await writeFile(path, planted(mutant, text))
    try {
      return await work()
    } finally {
      await writeFile(path, text)
    }
  }

  /** Runs only the named tests. */
  async endings(catchers: readonly Catcher[]): Promise<Ending[]> {
    const report = join(this.folder, 'mutants-report.json')
    await rm(report, { force: true })
    const files = [...new Set(catchers.map(({ file }) => file))]
    const names = catchers.map(({ test }) => escaped(test)).join('|')
    const args = ['run', '--reporter=json', `--outputFile=${report}`, '--testTimeout=30000', '-t', names, ...files]
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
    // A fault may make hooks hang, too.
    const env = { ...process.env, TEST_HOOK_TIMEOUT_MS: '30000' }
    const output = await run(process.execPath, [vitest, ...args], { cwd: this.folder, env, maxBuffer: 64 << 20 }).catch(
      (error: unknown) => String(error),
    )
    const text = await readFile(report, 'utf8').catch(() => {
      throw new Error(`no test report: ${JSON.stringify(output).slice(0, 2_000)}`)
    })
    const results = JSON.parse(text) as Report
    return catchers.map((catcher) => endingOf(results, catcher))
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }
}

/** Error texts of a test that never reached its assertions, or of a fault that names what no longer exists. */
const beside =
  /^(Error: )?(Transform failed|Failed to load|Cannot find module|Hook timed out)|SyntaxError|ReferenceError|ERR_MODULE_NOT_FOUND/

function endingOf({ testResults }: Report, { file, test }: Catcher): Ending {
  const result = testResults.find(({ name }) => name.endsWith(file))
  const own =
    result?.assertionResults.filter(
      ({ fullName, status }) => fullName.includes(test) && status !== 'skipped' && status !== 'pending',
    ) ?? []
  const [first] = own
  if (result === undefined || first === undefined)
    return result?.message === undefined || result.message === ''
      ? { kind: 'missing' }
      : { kind: 'broken', message: result.message }
  const failures = own
    .filter(({ status }) => status === 'failed')
    .map(({ failureMessages }) => failureMessages.join('\n'))
  const [message] = failures
  if (message === undefined) return { kind: 'passed' }
  return { kind: beside.test(message) ? 'broken' : 'failed', message }
}
